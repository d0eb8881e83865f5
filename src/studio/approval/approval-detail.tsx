import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { questionsOf } from '../../contract/input.ts'
import type { HoldingPolicy } from '../../contract/policy.ts'
import type { ListedApproval } from '../../contract/run-list.ts'
import type { Approval } from '../../contract/tool-definition.ts'
import { useLoaded } from '../api/loaded.ts'
import { costText, fetchJson, hasScope, part } from '../api/session.ts'
import { NumberedCode } from '../part/code.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { duration, judgementText, moment } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { ApprovalForm } from '../run/approval-form.tsx'
import { ownDecisions } from '../run/decide.ts'
import { watchRun } from '../run/run-store.ts'
import { loadCall } from './waiting.ts'

interface DetailProps {
  readonly call: ListedApproval
  /** The id of the call that follows in the queue. */
  readonly next: string | undefined
  readonly hrefTo: (id: string) => string
}

/** One call that waits, or was decided here: what it will do, why it asks, who asked, and until when. */
export function ApprovalDetail({ call, next, hrefTo }: DetailProps): JSX.Element {
  const { id, tool, conversation, run, expires } = call
  const isDecided = ownDecisions.value.has(id)
  // A call that is decided is answered no more; what was shown of it stays.
  const { state } = useLoaded(async () => (isDecided ? call : loadCall(call)), [id])
  const { value, isLoading, error } = state.value
  const program = value?.program ?? call.program
  const isShown = value !== undefined || (!isLoading && error === undefined)
  return (
    <article class="detail" aria-label={`Call of ${tool}`}>
      <div class="pad stack narrow">
        {error !== undefined && <ErrorNote error={error} />}
        {isShown && (
          <ApprovalForm
            call={{
              id,
              tool,
              arguments: JSON.stringify(value?.arguments ?? call.arguments ?? null),
              approval: {
                ...(call.because && { because: call.because }),
                ...(call.input && { questions: questionsOf(call.input) }),
              },
            }}
            definition={{ ...call.definition, ...value?.definition }}
            address={{ conversation, run }}
            aside={
              isDecided ? (
                <After call={call} next={next} hrefTo={hrefTo} />
              ) : (
                <span class="fail num">expires {moment(expires)}</span>
              )
            }
          >
            <Facts call={call} />
            {program !== undefined && <ProgramAround tool={tool} code={program} />}
          </ApprovalForm>
        )}
      </div>
    </article>
  )
}

/** Where to go once a call is decided. */
function After({ call: { conversation, run, id }, next, hrefTo }: DetailProps): JSX.Element {
  return (
    <>
      {hasScope('chat') && (
        <a class="btn quiet" href={hrefOf({ page: 'run', conversation, run, item: id })}>
          Open run
        </a>
      )}
      {next !== undefined && (
        <a class="btn quiet" href={hrefTo(next)}>
          Next in the queue
        </a>
      )}
    </>
  )
}

function Facts({ call }: { readonly call: ListedApproval }): JSX.Element {
  const { tool, caller, since, question, conversation, run, id, definition } = call
  return (
    <dl class="facts">
      <dt>Tool</dt>
      <dd>
        {definition?.title !== undefined && `${visible(definition.title)} `}
        <span class="mono faint">{visible(tool)}</span>
      </dd>
      <dt>Why it asks</dt>
      <dd>
        <Reason call={call} />
      </dd>
      <dt>Asked by</dt>
      <dd>
        {caller.key === undefined ? `tenant ${visible(caller.tenant)}` : `key ${visible(caller.key)}`}, at{' '}
        {moment(since)} ({duration(Math.max(0, Date.now() - since))} ago)
      </dd>
      {question && (
        <>
          <dt>Question</dt>
          <dd>“{visible(question)}”</dd>
        </>
      )}
      {hasScope('chat') && (
        <>
          <dt>Run</dt>
          <dd>
            <a class="link" href={hrefOf({ page: 'run', conversation, run, item: id })}>
              <RunSoFar call={call} />
            </a>
          </dd>
        </>
      )}
    </dl>
  )
}

function RunSoFar({ call: { conversation, run } }: { readonly call: ListedApproval }): JSX.Element {
  const store = useMemo(() => watchRun({ conversation, run }), [conversation, run])
  const { steps } = store.view.value
  const cost = steps.reduce((sum, { usage }) => sum + (usage?.cost ?? 0), 0)
  return (
    <>
      step {steps.at(-1)?.number ?? 1} of a run{cost > 0 && `, ${costText(cost)} so far`}
    </>
  )
}

/** Why a call needs approval: the rule of its tool, a policy, the setup, what the run has read, or that it asks. */
function Reason({ call: { because, definition, tool, judgement } }: { readonly call: ListedApproval }): JSX.Element {
  const { state } = useLoaded(async () => {
    if (because !== 'tool' || !hasScope('tools:admin')) return []
    return (await fetchJson<{ policies?: readonly HoldingPolicy[] }>(`/tools/${part(tool)}`)).policies ?? []
  }, [tool, because])
  const policy = state.value.value?.find((each) => each.policy.approval !== undefined)
  if (judgement) return <>{judgementText(judgement)}</>
  if (because === 'untrusted_data') return <>The run has read texts of third parties as well as private data</>
  if (because === 'setup') return <>A rule of this edge’s setup</>
  if (because === undefined) return <>The call asks a person for what it needs</>
  if (policy) {
    return (
      <>
        Policy <code>{visible(policy.pattern)}</code>: {ruleText(policy.policy.approval)}
      </>
    )
  }
  return <>The rule of the tool: {ruleText(definition?.approval)}</>
}

/** A rule of approval in words. */
function ruleText(rule: Approval | 'decide' | undefined): string {
  if (rule === undefined || typeof rule === 'string') return 'every call needs approval'
  const conditions = Object.entries(rule.unless).map(([pointer, { minimum, maximum, enum: values, like }]) => {
    const name = visible(pointer.replace(/^\//, ''))
    const parts = [
      minimum !== undefined && `at least ${minimum}`,
      maximum !== undefined && `at most ${maximum}`,
      values && `one of ${visible(values.map(String).join(', '))}`,
      like && `like ${visible(like.join(' or '))}`,
    ]
    return `${name} is ${parts.filter(Boolean).join(' and ')}`
  })
  return `needed unless ${conditions.join(' and ')}`
}

/** The program that made the call, with the lines that may have made it. */
function ProgramAround({ tool, code }: { readonly tool: string; readonly code: string }): JSX.Element {
  const pattern = new RegExp(`\\b${tool.replaceAll(/\W/g, '.')}\\b`)
  const notes = new Map<number, string>(
    code.split('\n').flatMap((line, index) => (pattern.test(line) ? [[index + 1, 'waits for you'] as const] : [])),
  )
  return (
    <section>
      <h3>The program that makes this call</h3>
      <NumberedCode code={code} language="js" label="Program" notes={notes} />
    </section>
  )
}
