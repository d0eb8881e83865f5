import type { JSX } from 'preact'
import { moment } from '../part/text.ts'
import { hrefOf, type RunAddress } from '../route.ts'
import { FaultDetail } from './fault-detail.tsx'
import type { RunView } from './run-view.ts'

/** What is known of a run as a whole. */
export function RunDetail({ run, address }: { readonly run: RunView; readonly address: RunAddress }): JSX.Element {
  const { status, finish, which, model, startedAt, tools } = run
  return (
    <article class="detail" aria-label="About the run">
      <dl class="facts">
        <div>
          <dt>Status</dt>
          <dd>
            {status}
            {finish && ` · ${finish}`}
            {which && `: ${which}`}
          </dd>
        </div>
        {model && (
          <div>
            <dt>Model</dt>
            <dd>
              <code>{model}</code>
            </dd>
          </div>
        )}
        {startedAt !== undefined && (
          <div>
            <dt>Started</dt>
            <dd>{moment(startedAt)}</dd>
          </div>
        )}
        <div>
          <dt>Run</dt>
          <dd>
            <a href={hrefOf({ page: 'chat', ...address })}>
              <code>{run.id}</code>
            </a>
          </dd>
        </div>
        {tools.length > 0 && (
          <div>
            <dt>Tools</dt>
            <dd class="clamp">{tools.join(', ')}</dd>
          </div>
        )}
      </dl>
      <FaultDetail address={address} />
    </article>
  )
}
