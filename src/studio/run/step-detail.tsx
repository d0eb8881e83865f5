import { Fragment, type JSX } from 'preact'
import type { Usage } from '../../contract/usage.ts'
import { costText } from '../api/session.ts'
import { FaultNote } from '../part/problem.tsx'
import { StateBadge } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { amount, duration, quantity } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import { CallChip } from './call-chip.tsx'
import { DetailHead, type ItemProps } from './detail-head.tsx'
import { FaultDetail } from './fault-detail.tsx'
import { RequestDetail } from './request-detail.tsx'
import type { RunView, StepView } from './run-view.ts'

/** What the model said in one step, what it was offered and what it used. */
export function StepDetail({ item: step, run, address, hrefTo }: ItemProps<StepView>): JSX.Element {
  const { number, attempt, text, reasoning, calls, usage, rejected, error } = step
  const failures = step.lostAttempts.length
  const ms =
    step.answeredAt !== undefined && step.startedAt !== undefined ? step.answeredAt - step.startedAt : undefined
  return (
    <article class="detail" aria-label={`Step ${number}`}>
      <DetailHead title={`Step ${number} · Model`} back={hrefTo(undefined)}>
        <StepBadge step={step} />
        <span class="faint">
          {[ms !== undefined && duration(ms), usage?.cost !== undefined && costText(usage.cost)]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </DetailHead>
      <div class="pad stack">
        {error && <FaultNote {...error} />}
        {error && <FaultDetail address={address} isOpen isShown={(fault) => fault.step === number} />}
        {failures > 0 && <Attempts step={step} run={run} />}
        {attempt > 1 && <p class="hint">{`This is attempt ${attempt}: the text of the attempts before is void.`}</p>}
        {usage && <Tokens usage={usage} />}
        {reasoning !== '' && (
          <details>
            <summary>Reasoning</summary>
            <p class="text dim">{visible(reasoning)}</p>
          </details>
        )}
        {text !== '' && (
          <section>
            <h3>Said</h3>
            <p class="text">{visible(text)}</p>
          </section>
        )}
        {calls.length > 0 && <Requested calls={calls} hrefTo={hrefTo} />}
        {rejected.map(({ text: rejectedText, issues }) => (
          <details key={issues}>
            <summary>An answer did not fit the requested format: {visible(issues)}</summary>
            <p class="text">{visible(rejectedText)}</p>
          </details>
        ))}
        <StepFacts step={step} />
        <RequestDetail step={number} address={address} />
        {step.isAnswered && (
          <details>
            <summary>Answer of the model</summary>
            <Value value={rawAnswer(step)} label="Answer" />
          </details>
        )}
        {!error && (
          <FaultDetail address={address} isShown={(fault) => fault.step === number && fault.callId === undefined} />
        )}
      </div>
    </article>
  )
}

/** The calls that the model asked for in a step. */
function Requested({
  calls,
  hrefTo,
}: {
  readonly calls: StepView['calls']
  readonly hrefTo: (key: string) => string
}): JSX.Element {
  return (
    <section>
      <h3>Asked for</h3>
      <div class="chips">
        {calls.map((call) => (
          <CallChip key={call.id} call={call} href={hrefTo(call.id)} />
        ))}
      </div>
    </section>
  )
}

/** What the model has answered in a step, as the edge has read it. */
function rawAnswer({ text, reasoning, calls, finish, usage }: StepView): object {
  const own = calls.filter(({ parent }) => parent === undefined)
  return {
    ...(reasoning !== '' && { reasoning }),
    text,
    calls: own.map(({ id, tool, arguments: input }) => ({ id, tool, arguments: input })),
    finish,
    usage,
  }
}

function StepFacts({
  step: { finish, calls, roomLeft, reductions = [], tools },
}: {
  readonly step: StepView
}): JSX.Element {
  return (
    <dl class="facts">
      {finish && (
        <>
          <dt>Stopped by</dt>
          <dd>
            <code>{finish}</code>, {quantity(calls.length, 'call')}
          </dd>
        </>
      )}
      {roomLeft !== undefined && (
        <>
          <dt>Room left</dt>
          <dd>{roomLeft.toLocaleString('en')} tokens</dd>
        </>
      )}
      {reductions.map(({ before, after, because }, index) => (
        <Fragment key={index}>
          <dt>Reduced</dt>
          <dd>
            {`from ${before.toLocaleString('en')} tokens to ${after.toLocaleString('en')}`}
            {because && ', as the model had refused the prompt as too long'}
          </dd>
        </Fragment>
      ))}
      {tools && (
        <>
          <dt>Offered</dt>
          <dd>{tools.length === 0 ? 'no tools' : tools.join(', ')}</dd>
        </>
      )}
    </dl>
  )
}

function StepBadge({ step: { error, isAnswered, lostAttempts } }: { readonly step: StepView }): JSX.Element {
  if (error) return <StateBadge look={{ icon: 'cross', word: 'Failed', tone: 'fail' }} />
  if (!isAnswered) return <StateBadge look={{ icon: 'running', word: 'Running', tone: 'model', isSpinning: true }} />
  const count = lostAttempts.length
  if (count === 0) return <StateBadge look={{ icon: 'ok', word: 'Answered', tone: '' }} />
  const word = count === 1 ? 'Retried once' : `Retried ${count} times`
  return <StateBadge look={{ icon: 'loop', word, tone: 'retry' }} />
}

/** The requests to the model, with the pauses between them. */
function Attempts({ step, run }: { readonly step: StepView; readonly run: RunView }): JSX.Element {
  const times = [
    ...step.lostAttempts.map((each) => ({ at: each.from ?? 0, to: each.to, text: failureText(each), tone: 'retry' })),
    ...step.pauses.map(({ from, until }) => ({ at: from, to: until, text: 'Pause', tone: 'faint' })),
  ].toSorted((a, b) => a.at - b.at)
  return (
    <section>
      <h3>Attempts</h3>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" class="num">
              Time
            </th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {times.map(({ at, to, text, tone }, index) => (
            <tr key={index}>
              <td class="faint">{text === 'Pause' ? '' : run.model}</td>
              <td class="num">{at > 0 && to !== undefined && duration(to - at)}</td>
              <td class={`wide ${tone}`}>{text}</td>
            </tr>
          ))}
          <tr>
            <td class="faint">{run.model}</td>
            <td />
            <td class={`wide ${step.error ? 'fail' : ''}`}>
              {step.error ? step.error.code : step.isAnswered ? 'Answered' : 'Running'}
            </td>
          </tr>
        </tbody>
      </table>
    </section>
  )
}

function failureText({ code, status }: StepView['lostAttempts'][number]): string {
  return status === undefined ? code : `${code} (HTTP ${status})`
}

/** Where the tokens of a step came from and went, as a bar and in numbers. */
function Tokens({ usage }: { readonly usage: Usage }): JSX.Element {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens } = usage
  const all = Math.max(1, inputTokens + outputTokens)
  const fresh = inputTokens - cachedInputTokens
  const share = (tokens: number) => (100 * tokens) / all
  return (
    <section>
      <h3>
        Tokens <span class="faint">{amount(inputTokens + outputTokens)}</span>
      </h3>
      <svg class="tokbar" aria-hidden="true">
        <rect width={`${share(cachedInputTokens)}%`} height="8" fill="var(--model-2)" />
        <rect x={`${share(cachedInputTokens)}%`} width={`${share(fresh)}%`} height="8" fill="var(--model)" />
        <rect x={`${share(inputTokens)}%`} width={`${share(outputTokens)}%`} height="8" fill="var(--ink)" />
      </svg>
      <p class="hint">
        <span class="key k-b" /> {amount(cachedInputTokens)} read from the cache · <span class="key k-a" />{' '}
        {`${amount(fresh)} sent new`}
        {cacheWriteTokens > 0 && `, ${amount(cacheWriteTokens)} of them written to the cache`} ·{' '}
        <span class="key k-e" /> {amount(outputTokens)} written
        {reasoningTokens !== undefined && `, ${amount(reasoningTokens)} of them for reasoning`}
      </p>
    </section>
  )
}
