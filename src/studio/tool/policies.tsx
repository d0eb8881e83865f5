import { Fragment, type JSX } from 'preact'
import type { HoldingPolicy, ToolPolicy } from '../../contract/policy.ts'
import type { Approval } from '../../contract/tool-definition.ts'
import { visible } from '../../contract/hidden-characters.ts'
import { duration } from '../part/text.ts'

/** The operator's policies that hold for a tool; the strictest value of each rule is in force. */
export function Policies({ policies }: { readonly policies: readonly HoldingPolicy[] }): JSX.Element {
  return (
    <>
      <h3>Policies</h3>
      {policies.length === 0 && <p class="hint">No policy of TOOL_POLICY matches this tool.</p>}
      {policies.length > 1 && (
        <p class="hint">Each applies. Of two limits the stricter is in force, of two annotations the later.</p>
      )}
      {policies.map(({ pattern, policy, tool }) => (
        <section key={`${tool} ${pattern}`} aria-label={`Policy ${pattern}`}>
          <h4>
            <code>{visible(pattern)}</code>
            {tool !== undefined && `, of ${visible(tool)}, which this tool calls`}
          </h4>
          <dl class="facts">
            {rulesOf(policy).map(([name, value]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd>{visible(value)}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
    </>
  )
}

/** What a policy says, in the order of what a person looks for. */
function rulesOf(policy: ToolPolicy): readonly (readonly [string, string])[] {
  const { approval, scopes, tenants, rate, concurrency, timeoutMs, maxResultBytes, hosts, annotations } = policy
  const rules: readonly (readonly [string, string | undefined])[] = [
    ['Approval', approval && approvalText(approval)],
    ['Needs the scopes', scopes?.join(', ')],
    ['For the tenants', tenants && (tenants.join(', ') || 'none')],
    ['Rate', rate],
    ['Calls at a time in a run', concurrency?.toString()],
    ['Time limit', timeoutMs === undefined ? undefined : duration(timeoutMs)],
    ['Result that a model sees', maxResultBytes === undefined ? undefined : `at most ${maxResultBytes} bytes`],
    ['May reach', hosts && (hosts.join(', ') || 'no host')],
    ['Data flow and effects', annotations && annotationsText(annotations)],
  ]
  return rules.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

function approvalText(approval: Approval | 'decide'): string {
  return typeof approval === 'string' ? approval : `needed unless ${JSON.stringify(approval.unless)}`
}

function annotationsText(annotations: object): string {
  return Object.entries(annotations)
    .map(([name, isSet]) => `${isSet === true ? '' : 'not '}${name}`)
    .join(', ')
}
