import type { JSX } from 'preact'
import { quantity, visible } from '../part/text.ts'
import type { RunAddress } from '../route.ts'
import type { StepView } from './run-view.ts'
import { FaultDetail } from './fault-detail.tsx'
import { RequestDetail } from './request-detail.tsx'

/** What the model said in one step, what it was offered and what it used. */
export function StepDetail({ step, address }: { readonly step: StepView; readonly address: RunAddress }): JSX.Element {
  const { number, attempt, text, reasoning, calls, usage, roomLeft, reductions = [], finish, tools, rejected } = step
  return (
    <article class="detail" aria-label={`Step ${number}`}>
      <h2>
        Step {number}
        {attempt > 1 && <span class="state is-interrupted">attempt {attempt}: an earlier one was lost</span>}
      </h2>
      {reasoning !== '' && (
        <details>
          <summary>Reasoning</summary>
          <p class="text note">{visible(reasoning)}</p>
        </details>
      )}
      {text !== '' && <p class="text">{visible(text)}</p>}
      {rejected.map(({ text, issues }) => (
        <details key={issues}>
          <summary>An answer did not fit the requested format: {visible(issues)}</summary>
          <p class="text">{visible(text)}</p>
        </details>
      ))}
      <dl class="facts">
        {usage && (
          <div>
            <dt>Tokens</dt>
            <dd>
              {`${usage.inputTokens.toLocaleString('en')} in, ${usage.outputTokens.toLocaleString('en')} out`}
              {usage.cachedInputTokens !== undefined && `, ${usage.cachedInputTokens.toLocaleString('en')} cached`}
              {usage.cacheWriteTokens !== undefined &&
                `, ${usage.cacheWriteTokens.toLocaleString('en')} written to the cache`}
              {usage.reasoningTokens !== undefined && `, ${usage.reasoningTokens.toLocaleString('en')} reasoning`}
            </dd>
          </div>
        )}
        {roomLeft !== undefined && (
          <div>
            <dt>Room left</dt>
            <dd>{`${roomLeft.toLocaleString('en')} tokens`}</dd>
          </div>
        )}
        {reductions.map(({ before, after, because }) => (
          <div key={`${before} ${after}`}>
            <dt>Reduced</dt>
            <dd>
              {`from ${before.toLocaleString('en')} tokens to ${after.toLocaleString('en')}`}
              {because && ', as the model had refused the prompt as too long'}
            </dd>
          </div>
        ))}
        {finish && (
          <div>
            <dt>Finish</dt>
            <dd>
              <code>{finish}</code>, {quantity(calls.length, 'call')}
            </dd>
          </div>
        )}
        {tools && (
          <div>
            <dt>Offered</dt>
            <dd>{tools.length === 0 ? 'no tools' : tools.join(', ')}</dd>
          </div>
        )}
      </dl>
      <RequestDetail step={number} address={address} />
      <FaultDetail address={address} isShown={(fault) => fault.step === number && fault.callId === undefined} />
    </article>
  )
}
