import type { JSX } from 'preact'
import { Contents } from '../part/contents.tsx'
import { FaultNote } from '../part/problem.tsx'
import { duration, jsonOrText, moment } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import { hrefOf, type RunAddress } from '../route.ts'
import { ApprovalForm } from './approval-form.tsx'
import { CALL_STATE } from './chart.tsx'
import { FaultDetail } from './fault-detail.tsx'
import type { CallView } from './run-view.ts'

/** Everything about one call. */
export function CallDetail({ call, address }: { readonly call: CallView; readonly address: RunAddress }): JSX.Element {
  const { attempts, approval, usage, place, version, deployment, progress, error, undone } = call
  return (
    <article class="detail" aria-label={`Call of ${call.tool}`}>
      <h2>
        <a href={hrefOf({ page: 'tools', tool: call.tool })}>{call.tool}</a>
        <span class={`state is-${call.state}`}>{CALL_STATE[call.state]}</span>
        {call.durationMs !== undefined && <span class="note">{duration(call.durationMs)}</span>}
      </h2>
      {call.state === 'approval' && <ApprovalForm call={call} address={address} />}
      {approval?.decision && <p class="note">{decided(approval)}</p>}
      {progress && <Progress {...progress} />}
      {error && <FaultNote {...error} />}
      {call.state !== 'approval' && (
        <>
          <h3>Arguments</h3>
          <Value value={jsonOrText(call.arguments)} label="Arguments" />
        </>
      )}
      {call.content && (
        <>
          <h3>Result{call.cut !== undefined && `, the first part of ${call.cut.toLocaleString('en')} bytes`}</h3>
          <Contents content={call.content} structured={call.structured} />
        </>
      )}
      {undone && (
        <p class="note">{undone.ok ? 'This call was undone.' : `It could not be undone: ${undone.message}`}</p>
      )}
      <FaultDetail address={address} isShown={(fault) => fault.callId === call.id} />
      <dl class="facts">
        {attempts.map(({ number, from, to, loss }) => (
          <div key={number}>
            <dt>Attempt {number}</dt>
            <dd>
              {moment(from)}
              {to !== undefined && `, ${duration(to - from)}`}
              {loss && (loss === 'timeout' ? ', not answered in time' : ', lost when the edge stopped')}
            </dd>
          </div>
        ))}
        {place !== undefined && (
          <div>
            <dt>Worker</dt>
            <dd>
              <code>{place}</code>
              {version !== undefined && `, version ${version}`}
              {deployment !== undefined && `, deployment ${deployment}`}
            </dd>
          </div>
        )}
        {usage && (
          <div>
            <dt>Tokens inside</dt>
            <dd>{`${usage.inputTokens} in, ${usage.outputTokens} out`}</dd>
          </div>
        )}
        <div>
          <dt>Call</dt>
          <dd>
            <code>{call.id}</code>
          </dd>
        </div>
      </dl>
    </article>
  )
}

function Progress({ message, fraction, data }: NonNullable<CallView['progress']>): JSX.Element {
  return (
    <p class="note">
      {fraction !== undefined && <progress value={fraction} aria-label="Progress" />} {message ?? JSON.stringify(data)}
    </p>
  )
}

function decided({ decision, by, reason, isChanged }: NonNullable<CallView['approval']>): string {
  const how = decision === 'approve' ? (isChanged ? 'Approved with changed arguments' : 'Approved') : 'Rejected'
  return `${how}${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`
}
