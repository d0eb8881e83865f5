import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Citation, ProviderCall } from '../../contract/provider-tool.ts'
import { costText } from '../api/session.ts'
import { CopyButton } from '../part/copy-button.tsx'
import { Icon } from '../part/icon.tsx'
import { memo } from '../part/memo.tsx'
import { ErrorNote, FaultNote } from '../part/problem.tsx'
import { Link, Prose } from '../part/prose.tsx'
import { callLook, runLook, State, type StateLook } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { argumentHint, duration, moment, quantity } from '../part/text.ts'
import { go, hrefOf } from '../route.ts'
import { ApprovalForm } from '../run/approval-form.tsx'
import { DoubtNote } from '../run/call-chip.tsx'
import { ResultForm } from '../run/result-form.tsx'
import { type RunStore, watchRun } from '../run/run-store.ts'
import { type CallView, hasEnded, type RunView, type StepView } from '../run/run-view.ts'
import { AskAgain } from './ask-again.tsx'
import { EvalCaseDialog } from './eval-case-dialog.tsx'
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
  const isRaw = useSignal(false)
  const store = useMemo(
    () => (isFollowed ? watchRun({ conversation, run }) : undefined),
    [isFollowed, conversation, run],
  )
  const shared = { conversation, run, isRaw: isRaw.value }
  return (
    <article class={isReplaced ? 'turn replaced' : 'turn'} aria-label={question} aria-current={isSelected || undefined}>
      <p class="ask text">{visible(question)}</p>
      {store ? <Followed store={store} turn={turn} isRaw={isRaw.value} /> : <Steps steps={turn.steps} {...shared} />}
      <TurnFoot
        conversation={conversation}
        turn={turn}
        store={store}
        isSelected={isSelected}
        isRaw={isRaw.value}
        onRaw={(next) => (isRaw.value = next)}
      />
    </article>
  )
}

interface FollowedProps {
  readonly store: RunStore
  readonly turn: ConversationTurn
  readonly isRaw: boolean
}

/** A turn whose run is under way, or whose events are loaded. */
function Followed({ store, turn, isRaw }: FollowedProps): JSX.Element {
  const view = store.view.value
  const { conversation, run } = store.address
  const isToRefresh = hasEnded(view) && turn.summary?.ended === undefined
  // The place of its messages, where a branch can begin, is known once the run has ended.
  useEffect(() => {
    if (isToRefresh) void openConversation(conversation)
  }, [isToRefresh])
  const steps = shownSteps(turn, view)
  const last = steps.at(-1)
  const isAnswerShown = view.answer === '' || view.answer === last?.text || steps !== view.steps
  const waits = last?.pauses.at(-1)
  return (
    <>
      <Steps steps={steps} conversation={conversation} run={run} store={store} isRaw={isRaw} />
      {!isAnswerShown && <ModelText text={view.answer} isRaw={isRaw} />}
      {!hasEnded(view) && waits && last?.isAnswered === false && last.text === '' && (
        <p class="note wait" role="status">
          <Icon name="clock" />
          <span>
            <b>The model fails ({waits.code}).</b>{' '}
            {`It is asked again at ${new Date(waits.until).toLocaleTimeString()}.`}
          </span>
        </p>
      )}
      {view.error && <FaultNote {...view.error} />}
      {store.error.value !== undefined && <ErrorNote error={store.error.value} />}
    </>
  )
}

/** The steps of a turn. Until the events of its run are there, the messages tell as much. */
function shownSteps(turn: ConversationTurn, view: RunView | undefined): readonly StepView[] {
  return view && view.steps.length > 0 ? view.steps : turn.steps
}

/** What the model has said: its Markdown, or the text as it is. */
function ModelText({
  text,
  isRaw,
  isWriting = false,
}: {
  readonly text: string
  readonly isRaw: boolean
  readonly isWriting?: boolean
}): JSX.Element {
  return isRaw ? <p class="text mono">{visible(text)}</p> : <Prose text={text} isWriting={isWriting} />
}

interface StepsProps {
  readonly conversation: string
  readonly run: string
  readonly steps: readonly StepView[]
  readonly store?: RunStore
  readonly isRaw: boolean
}

function Steps({ steps, ...place }: StepsProps): JSX.Element {
  const isOver = place.store === undefined || hasEnded(place.store.view.value)
  return (
    <>
      {steps.map((step) => (
        <Step key={step.number} step={step} isOver={isOver} {...place} />
      ))}
    </>
  )
}

interface StepProps extends Omit<StepsProps, 'steps'> {
  readonly step: StepView
  readonly isOver: boolean
}

const Step = memo(ShownStep)

function ShownStep({ conversation, run, step, store, isRaw, isOver }: StepProps): JSX.Element {
  const waiting = store && !isOver ? step.calls.filter(({ state }) => state === 'approval' || state === 'caller') : []
  return (
    <div class="stepbox">
      {step.reasoning !== '' && (
        <details class="hint">
          <summary>Reasoning</summary>
          <p class="text">{visible(step.reasoning)}</p>
        </details>
      )}
      {step.providerCalls && <ProviderCalls calls={step.providerCalls} step={step.number} />}
      {step.text !== '' && <ModelText text={step.text} isRaw={isRaw} isWriting={!step.isAnswered && !isOver} />}
      {step.citations && <Sources citations={step.citations} />}
      {step.calls.length > 0 && <Calls step={step} conversation={conversation} run={run} />}
      {step.calls.map((call) => (
        <DoubtNote key={call.id} call={call} />
      ))}
      {store && waiting.map((call) => <CallDecision key={call.id} call={call} store={store} />)}
    </div>
  )
}

interface ProviderCallsProps {
  readonly calls: readonly ProviderCall[]
  readonly step: number
}

/** What the provider of the model did itself. */
function ProviderCalls({ calls, step }: ProviderCallsProps): JSX.Element {
  return (
    <ul class="chips" aria-label={`Done by the provider in step ${step}`}>
      {calls.map(({ tool, input, ok, output = '' }) => {
        const look = callLook(ok ? 'ok' : 'failed')
        return (
          <li>
            <span class={`chip ${chipClass(look)}`} title={visible(output)}>
              <Icon name={look.icon} isSmall />
              <span class="mono">{visible(tool)}</span>
              <span class="faint cut">
                {[argumentHint(JSON.stringify(input)), 'by the provider'].filter(Boolean).join(' · ')}
              </span>
              <span class="hidden">{look.word}</span>
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** The pages on which an answer rests, each once. */
function Sources({ citations }: { readonly citations: readonly Citation[] }): JSX.Element {
  const pages = new Map(citations.map(({ url, title }) => [url, title ?? url]))
  return (
    <ul class="chips" aria-label="Sources">
      {[...pages].map(([url, title]) => (
        <li key={url}>
          <Link url={url}>{visible(title)}</Link>
        </li>
      ))}
    </ul>
  )
}

interface CallsProps {
  readonly step: StepView
  readonly conversation: string
  readonly run: string
}

/** The calls of a step. Those of a program stand with it in its run, and neighbours of one tool that are done fold. */
function Calls({ step, conversation, run }: CallsProps): JSX.Element {
  const own = step.calls.filter(({ parent }) => parent === undefined)
  const groups: CallView[][] = []
  for (const call of own) {
    const last = groups.at(-1)
    const isLike = last?.[0]?.tool === call.tool && last[0].state === 'ok' && call.state === 'ok'
    if (last && isLike) last.push(call)
    else groups.push([call])
  }
  return (
    <ul class="chips" aria-label={`Calls of step ${step.number}`}>
      {groups.map((calls) => (
        <li key={calls[0]?.id}>
          <Chip calls={calls} href={hrefOf({ page: 'chat', conversation, run, item: calls[0]?.id ?? '' })} />
        </li>
      ))}
    </ul>
  )
}

/** The form of a call that waits for a person. */
function CallDecision({ call, store }: { readonly call: CallView; readonly store: RunStore }): JSX.Element {
  if (call.state === 'approval') return <ApprovalForm call={call} address={store.address} />
  return <ResultForm call={call} address={store.address} />
}

function Chip({ calls, href }: { readonly calls: readonly CallView[]; readonly href: string }): JSX.Element | null {
  const [call] = calls
  if (!call) return null
  const { tool, state, progress } = call
  const look = callLook(state)
  const ms = calls.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0)
  const hint = calls.length > 1 ? quantity(calls.length, 'call') : argumentHint(call.arguments)
  const more = progress?.message ?? (state === 'ok' ? duration(ms) : look.word.toLowerCase())
  return (
    <a class={`chip ${chipClass(look)}`} href={href}>
      <Icon name={look.icon} isSmall isSpinning={look.isSpinning === true} />
      <span class="mono">{visible(tool)}</span>
      <span class="faint cut">{[hint, visible(more)].filter(Boolean).join(' · ')}</span>
      <span class="hidden">{look.word}</span>
    </a>
  )
}

function chipClass({ tone }: StateLook): string {
  return tone === 'fail' ? 'is-fail' : tone === 'wait' ? 'is-wait' : tone === 'model' ? 'is-run' : ''
}

interface FootProps {
  readonly conversation: string
  readonly turn: ConversationTurn
  readonly store: RunStore | undefined
  readonly isSelected: boolean
  readonly isRaw: boolean
  readonly onRaw: (isRaw: boolean) => void
}

function TurnFoot({ conversation, turn, store, isSelected, isRaw, onRaw }: FootProps): JSX.Element {
  const { run, summary, last, canFork, isReplaced } = turn
  const error = useSignal<unknown>(undefined)
  const dialog = useSignal<'again' | 'case' | undefined>(undefined)
  const close = () => (dialog.value = undefined)
  const view = store?.view.value
  const status = view && view.status !== 'queued' ? view.status : summary?.status
  const isOver = status !== undefined && hasEnded({ status })
  const answer = view?.answer || turn.steps.map(({ text }) => text).join('\n\n')
  const branch = async () => {
    if (last === undefined) return
    const id = await fork(conversation, last).catch((problem: unknown) => void (error.value = problem))
    if (id) go({ page: 'chat', conversation: id })
  }
  return (
    <footer class="meta">
      <span role="status">
        {status ? <State look={lookOf(status, view)} /> : 'From another chat'}
        {isReplaced && ', replaced by a later run'}
      </span>
      {summary && <span>{factsOf(turn, view)}</span>}
      {summary && (
        <a class="btn quiet nophone" href={hrefOf({ page: isSelected ? 'run' : 'chat', conversation, run })}>
          {isSelected ? 'Open run' : 'Show steps'}
        </a>
      )}
      {answer !== '' && isOver && (
        <>
          <CopyButton text={() => answer} what="Answer" isPlain />
          <button type="button" class="btn quiet" aria-pressed={isRaw} onClick={() => onRaw(!isRaw)}>
            {isRaw ? 'Formatted' : 'Raw text'}
          </button>
        </>
      )}
      {canFork && (
        <button type="button" class="btn quiet nophone" onClick={branch}>
          Branch from here
        </button>
      )}
      {summary && isOver && (
        <button type="button" class="btn quiet" onClick={() => (dialog.value = 'again')}>
          Ask again
        </button>
      )}
      {summary && isOver && (
        <button type="button" class="btn quiet nophone" onClick={() => (dialog.value = 'case')}>
          Copy as eval case
        </button>
      )}
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {dialog.value === 'again' && <AskAgain conversation={conversation} turn={turn} onClose={close} />}
      {dialog.value === 'case' && (
        <EvalCaseDialog turn={{ question: turn.question, steps: shownSteps(turn, view), answer }} onClose={close} />
      )}
    </footer>
  )
}

function lookOf(status: RunView['status'], view: RunView | undefined): StateLook {
  const look = runLook(status, view?.which)
  if (status !== 'waiting' || !view) return look
  const word = {
    approval: 'Waiting for approval',
    caller: 'Waiting for a result',
    agent: 'An agent is at work',
    tool: 'Waiting for a tool',
  }
  return { ...look, word: word[view.waits.at(-1)?.for ?? 'approval'] }
}

function factsOf({ summary }: ConversationTurn, view: RunView | undefined): string {
  if (!summary) return ''
  const ended = summary.ended ?? view?.endedAt
  const cost = view?.usage?.cost
  const finish = view?.finish
  return [
    moment(summary.created),
    ended !== undefined && duration(ended - summary.created),
    cost !== undefined && costText(cost),
    finish && !['stop', 'cancelled', 'error', 'limit'].includes(finish) && finish,
    view?.which && `limit ${view.which}`,
  ]
    .filter(Boolean)
    .join(' · ')
}
