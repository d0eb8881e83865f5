import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { costText } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { amount, duration, percent } from '../part/text.ts'
import { hrefOf, type RunAddress } from '../route.ts'
import { CallDetail } from './call-detail.tsx'
import { Chart } from './chart.tsx'
import { RunDetail } from './run-detail.tsx'
import { findEnd, type RunStore, watchRun } from './run-store.ts'
import { callsOf, hasEnded, type RunView } from './run-view.ts'
import { StepDetail } from './step-detail.tsx'
import { type Timeline, timelineOf } from './timeline.ts'

/** How often the open end of the timeline moves, in milliseconds. */
const TICK_MS = 250

/** A run as it is shown: at present, or after one of its events while it is replayed. */
export interface ShownRun {
  readonly store: RunStore
  readonly run: RunView
  readonly timeline: Timeline
  readonly replayed: Signal<RunView | undefined>
}

/** Follows a run, and lays it out. `endedAt`: when it ended, if that is known. */
export function useRun(address: RunAddress, endedAt?: number): ShownRun {
  const store = useMemo(() => watchRun(address), [address.conversation, address.run])
  const replayed = useSignal<RunView | undefined>(undefined)
  useEffect(() => void (replayed.value = undefined), [store])
  const run = replayed.value ?? store.view.value
  const isOver = hasEnded(run)
  const isEndKnown = run.endedAt !== undefined || endedAt !== undefined
  useEffect(() => {
    // Runs of earlier versions do not say when they ended.
    if (isOver && !isEndKnown) findEnd(store).catch(() => {})
  }, [isOver, isEndKnown, store])
  const now = useNow(store)
  const until = isOver ? (endedAt ?? store.endedAt.value ?? 0) : now
  const timeline = useMemo(() => timelineOf(run, until), [run, until])
  return { store, run, timeline, replayed }
}

/** The present, moving while the run is under way. */
function useNow(store: RunStore): number {
  const now = useSignal(Date.now())
  const isMoving = store.isOpen.value || store.view.value.status === 'waiting'
  useEffect(() => {
    if (!isMoving) return undefined
    const timer = setInterval(() => (now.value = Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isMoving])
  return now.value
}

interface DetailProps {
  readonly run: RunView
  readonly address: RunAddress
  /** The row whose details are shown: a call's id, `step-N`, or none for the run. */
  readonly item: string | undefined
  readonly hrefTo: (key: string | undefined) => string
  readonly isBesideChat?: boolean
}

/** The details of what is selected in a run. */
export function ItemDetail({ run, address, item, hrefTo, isBesideChat = false }: DetailProps): JSX.Element {
  const call = callsOf(run).find(({ id }) => id === item)
  const step = run.steps.find(({ number }) => item === `step-${number}`)
  const shared = { run, address, hrefTo }
  if (call) return <CallDetail key={call.id} item={call} {...shared} />
  if (step) return <StepDetail key={step.number} item={step} {...shared} />
  return <RunDetail {...shared} isBesideChat={isBesideChat} />
}

interface PanelProps {
  readonly address: RunAddress
  readonly item: string | undefined
  readonly endedAt: number | undefined
}

/** A run beside its chat: its figures, its timeline, and the details of what is selected in it. */
export function RunPanel({ address, item, endedAt }: PanelProps): JSX.Element {
  const { store, run, timeline } = useRun(address, endedAt)
  const hrefTo = (key?: string) => hrefOf({ page: 'chat', ...address, ...(key && { item: key }) })
  return (
    <section class="sheet" aria-label="Run">
      <div class="bar figures-bar">
        <Figures run={run} timeline={timeline} isShort />
        <span class="grow" />
        <a class="btn quiet" href={hrefOf({ page: 'run', ...address, ...(item && { item }) })}>
          <Icon name="right" />
          Open run
        </a>
      </div>
      <div class="scroll" tabIndex={0}>
        {store.error.value !== undefined && <ErrorNote error={store.error.value} />}
        <Chart timeline={timeline} selected={item} hrefOf={hrefTo} isSmall />
        <ItemDetail run={run} address={address} item={item} hrefTo={hrefTo} isBesideChat />
      </div>
    </section>
  )
}

interface FiguresProps {
  readonly run: RunView
  readonly timeline: Timeline
  /** Only time, tokens and cost. */
  readonly isShort?: boolean
}

/** The figures of a run: where its time went, what it used, and how many steps and calls it took. */
export function Figures({ run, timeline, isShort = false }: FiguresProps): JSX.Element {
  const calls = callsOf(run)
  const failed = calls.filter(({ state }) => state === 'failed').length
  const { inputTokens, cachedInputTokens = 0, outputTokens, cost } = run.usage ?? sumOf(run)
  const { totalMs, waitMs, modelMs, toolMs } = timeline
  const activeMs = Math.max(1, totalMs - waitMs)
  return (
    <dl class="figures">
      <Figure name="Time" value={duration(totalMs)} more={waitMs >= 1000 ? `waited ${duration(waitMs)}` : ''} />
      {!isShort && <Figure name="Model" value={duration(modelMs)} more={percent(modelMs, activeMs)} />}
      {!isShort && <Figure name="Tools" value={duration(toolMs)} more={percent(toolMs, activeMs)} />}
      {!isShort && (
        <div>
          <dt>Steps · calls</dt>
          <dd>
            {run.steps.length} · {calls.length} {failed > 0 && <small class="fail">{failed} failed</small>}
          </dd>
        </div>
      )}
      <div>
        <dt>Tokens</dt>
        <dd>
          {amount(inputTokens)} in{' '}
          {cachedInputTokens > 0 && <small>{percent(cachedInputTokens, inputTokens)} cached</small>} ·{' '}
          {amount(outputTokens)} out
        </dd>
      </div>
      {cost !== undefined && <Figure name="Cost" value={costText(cost)} more="" />}
    </dl>
  )
}

function Figure({
  name,
  value,
  more,
}: {
  readonly name: string
  readonly value: string
  readonly more: string
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {more !== '' && <small>{more}</small>}
      </dd>
    </div>
  )
}

interface Sum {
  readonly inputTokens: number
  readonly cachedInputTokens?: number
  readonly outputTokens: number
  readonly cost?: number
}

/** The usage so far of a run that has not ended. */
function sumOf({ steps }: RunView): Sum {
  let [inputTokens, cachedInputTokens, outputTokens] = [0, 0, 0]
  let cost: number | undefined
  for (const { usage } of steps) {
    inputTokens += usage?.inputTokens ?? 0
    cachedInputTokens += usage?.cachedInputTokens ?? 0
    outputTokens += usage?.outputTokens ?? 0
    if (usage?.cost !== undefined) cost = (cost ?? 0) + usage.cost
  }
  return { inputTokens, cachedInputTokens, outputTokens, ...(cost !== undefined && { cost }) }
}
