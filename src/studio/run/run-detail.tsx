import type { JSX } from 'preact'
import { Icon } from '../part/icon.tsx'
import { FaultNote } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { Prose } from '../part/prose.tsx'
import { DetailHead } from './detail-head.tsx'
import { FaultDetail } from './fault-detail.tsx'
import type { RunAddress } from '../route.ts'
import { callsOf, hasEnded, type RunView } from './run-view.ts'

interface RunDetailProps {
  readonly run: RunView
  readonly address: RunAddress
  readonly hrefTo: (key: string | undefined) => string
  /** Whether the answer stands beside it already. */
  readonly isBesideChat: boolean
}

/** What is known of a run as a whole: what failed, the answer, and what else happened. */
export function RunDetail({ run, address, hrefTo, isBesideChat }: RunDetailProps): JSX.Element {
  const { error, answer, notes } = run
  const failed = callsOf(run).filter((call) => call.state === 'failed')
  const waiting = callsOf(run).filter(({ state }) => state === 'approval')
  return (
    <article class="detail" aria-label="About the run">
      <DetailHead title="About the run" back={hrefTo(undefined)} />
      <div class="pad stack">
        {error && <FaultNote {...error} />}
        {error && <FaultDetail address={address} isOpen />}
        {!hasEnded(run) &&
          waiting.map((call) => (
            <p key={call.id} class="note wait">
              <Icon name="approval" />
              <span>
                <b>Needs approval:</b>{' '}
                <a class="link" href={hrefTo(call.id)}>
                  {visible(call.tool)}
                </a>
              </span>
            </p>
          ))}
        {failed.length > 0 && (
          <section>
            <h3>Failed calls</h3>
            <ul class="stack2">
              {failed.map((call) => (
                <li key={call.id}>
                  <a class="link fail" href={hrefTo(call.id)}>
                    {visible(call.tool)}
                  </a>{' '}
                  <code>{call.error?.code}</code> <span class="dim">{visible(call.error?.message ?? '')}</span>
                </li>
              ))}
            </ul>
          </section>
        )}
        {answer !== '' && !isBesideChat && (
          <section>
            <h3>Answer</h3>
            <Prose text={answer} />
          </section>
        )}
        {notes.map((note) => (
          <p key={note} class="hint">
            {note}
          </p>
        ))}
        <RunFacts run={run} conversation={address.conversation} />
        {!error && <FaultDetail address={address} />}
      </div>
    </article>
  )
}

function RunFacts({ run, conversation }: { readonly run: RunView; readonly conversation: string }): JSX.Element {
  const { status, finish, which, model, tools, id } = run
  return (
    <dl class="facts">
      <dt>Status</dt>
      <dd>
        {status}
        {finish && ` · ${finish}`}
        {which && `: ${which}`}
      </dd>
      {model && (
        <>
          <dt>Model</dt>
          <dd>{visible(model)}</dd>
        </>
      )}
      {tools.length > 0 && (
        <>
          <dt>Tools</dt>
          <dd>
            <details>
              <summary>{tools.length} on offer</summary>
              {tools.map(visible).join(', ')}
            </details>
          </dd>
        </>
      )}
      <dt>Run</dt>
      <dd class="mono">{id}</dd>
      <dt>Chat</dt>
      <dd class="mono">{conversation}</dd>
    </dl>
  )
}
