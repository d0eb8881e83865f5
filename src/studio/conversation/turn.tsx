import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { memo } from '../part/memo.tsx'
import { FaultNote, ErrorNote } from '../part/problem.tsx'
import { argumentHint, duration, moment, visible } from '../part/text.ts'
import { go, hrefOf } from '../route.ts'
import { ApprovalForm } from '../run/approval-form.tsx'
import { CALL_STATE } from '../run/chart.tsx'
import { ResultForm } from '../run/result-form.tsx'
import { type RunStore, watchRun } from '../run/run-store.ts'
import { hasEnded, type CallView, type RunView, type StepView } from '../run/run-view.ts'
import { AskAgain } from './ask-again.tsx'
import { fork, openConversation } from './conversation-store.ts'
import type { ConversationTurn } from './turns.ts'

interface TurnProps {
  readonly conversation: string
  readonly turn: ConversationTurn
  readonly isSelected: boolean
}

/** A question, what the model did about it, and the answer. */
export const TurnItem = memo(ShownTurn)

function ShownTurn({ conversation, turn, isSelected }: TurnProps): JSX.Element {
  const { run, question, summary, isReplaced } = turn
  const isFollowed = summary !== undefined && (isSelected || !hasEnded(summary))
  const store = useMemo(
    () => (isFollowed ? watchRun({ conversation, run }) : undefined),
    [isFollowed, conversation, run],
  )
  return (
    <article class={isReplaced ? 'turn replaced' : 'turn'} aria-label={question} aria-current={isSelected || undefined}>
      <p class="question">{visible(question)}</p>
      {store ? (
        <Followed store={store} turn={turn} />
      ) : (
        <Steps steps={turn.steps} conversation={conversation} run={run} />
      )}
      <TurnFoot conversation={conversation} turn={turn} store={store} isSelected={isSelected} />
    </article>
  )
}

/** A turn whose run is under way, or whose events are loaded. */
function Followed({ store, turn }: { readonly store: RunStore; readonly turn: ConversationTurn }): JSX.Element {
  const view = store.view.value
  const { conversation, run } = store.address
  const isToRefresh = hasEnded(view) && turn.summary?.ended === undefined
  // The place of its messages, where a branch can begin, is known once the run has ended.
  useEffect(() => {
    if (isToRefresh) void openConversation(conversation)
  }, [isToRefresh])
  // Until the events are there, the messages tell as much.
  const steps = view.steps.length > 0 ? view.steps : turn.steps
  const last = steps.at(-1)
  const isAnswerShown = view.answer === '' || view.answer === last?.text || steps !== view.steps
  return (
    <>
      <Steps steps={steps} conversation={conversation} run={run} store={store} />
      {!isAnswerShown && <p class="text">{visible(view.answer)}</p>}
      {view.error && <FaultNote {...view.error} />}
      {store.error.value !== undefined && <ErrorNote error={store.error.value} />}
    </>
  )
}

interface StepsProps {
  readonly conversation: string
  readonly run: string
  readonly steps: readonly StepView[]
  readonly store?: RunStore
}

function Steps({ steps, ...place }: StepsProps): JSX.Element {
  return (
    <>
      {steps.map((step) => (
        <Step key={step.number} step={step} {...place} />
      ))}
    </>
  )
}

interface StepProps extends Omit<StepsProps, 'steps'> {
  readonly step: StepView
}

const Step = memo(ShownStep)

function ShownStep({ conversation, run, step, store }: StepProps): JSX.Element {
  return (
    <div class="step">
      {step.reasoning !== '' && (
        <details class="note">
          <summary>Reasoning</summary>
          <p class="text">{visible(step.reasoning)}</p>
        </details>
      )}
      {step.text !== '' && <p class="text">{visible(step.text)}</p>}
      {step.calls.length > 0 && (
        <ul class="calls" aria-label={`Calls of step ${step.number}`}>
          {step.calls.map((call) => (
            <li key={call.id}>
              <Chip call={call} href={hrefOf({ page: 'chat', conversation, run, item: call.id })} />
            </li>
          ))}
        </ul>
      )}
      {store && step.calls.map((call) => <CallDecision key={call.id} call={call} store={store} />)}
    </div>
  )
}

/** The form of a call that waits for a person. */
function CallDecision({ call, store }: { readonly call: CallView; readonly store: RunStore }): JSX.Element | null {
  if (hasEnded(store.view.value)) return null
  if (call.state === 'approval') return <ApprovalForm call={call} address={store.address} />
  return call.state === 'caller' ? <ResultForm call={call} address={store.address} /> : null
}

function Chip({ call, href }: { readonly call: CallView; readonly href: string }): JSX.Element {
  const { tool, state, durationMs, progress } = call
  const more = state === 'ok' && durationMs !== undefined ? duration(durationMs) : CALL_STATE[state]
  return (
    <a class={`chip is-${state}`} href={href}>
      <b>{tool}</b> <span>{[argumentHint(call.arguments), progress?.message ?? more].filter(Boolean).join(' · ')}</span>
    </a>
  )
}

interface FootProps {
  readonly conversation: string
  readonly turn: ConversationTurn
  readonly store: RunStore | undefined
  readonly isSelected: boolean
}

function TurnFoot({ conversation, turn, store, isSelected }: FootProps): JSX.Element {
  const { run, summary, last, canFork, isReplaced } = turn
  const error = useSignal<unknown>(undefined)
  const isAsking = useSignal(false)
  const view = store?.view.value
  const branch = async () => {
    if (last === undefined) return
    const id = await fork(conversation, last).catch((problem: unknown) => void (error.value = problem))
    if (id) go({ page: 'chat', conversation: id })
  }
  return (
    <footer>
      <span class={isUnderWay(view) ? 'live' : ''} role="status">
        {view && view.status !== 'queued' ? statusOf(view) : (summary?.status ?? 'from another conversation')}
        {isReplaced && ', replaced by a later run'}
      </span>
      {summary && <span>{moment(summary.created)}</span>}
      {summary && !isSelected && <a href={hrefOf({ page: 'chat', conversation, run })}>Timeline</a>}
      {summary && isSelected && (
        <a class="narrow" href="#run" onClick={showRun}>
          Timeline
        </a>
      )}
      {canFork && (
        <button type="button" class="link" onClick={branch}>
          Branch here
        </button>
      )}
      {summary && !isUnderWay(view) && (
        <button type="button" class="link" onClick={() => (isAsking.value = true)}>
          Ask again with…
        </button>
      )}
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {isAsking.value && <AskAgain conversation={conversation} turn={turn} onClose={() => (isAsking.value = false)} />}
    </footer>
  )
}

function showRun(event: Event): void {
  event.preventDefault()
  document.querySelector('.run')?.scrollIntoView()
}

function isUnderWay(view: RunView | undefined): boolean {
  return view !== undefined && !hasEnded(view)
}

function statusOf({ status, waits, finish, which }: RunView): string {
  if (status === 'waiting') return `Waiting for ${waits.at(-1)?.for === 'approval' ? 'approval' : 'a result'}`
  if (status === 'running') return 'Working'
  return [status, finish !== 'stop' && finish !== 'cancelled' && finish !== 'error' && finish, which]
    .filter(Boolean)
    .join(' · ')
}
