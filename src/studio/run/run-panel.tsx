import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { FaultNote, ErrorNote } from '../part/problem.tsx'
import { hrefOf, type RunAddress } from '../route.ts'
import { Chart, Figures } from './chart.tsx'
import { CallDetail } from './call-detail.tsx'
import { Replay } from './replay.tsx'
import { RunDetail } from './run-detail.tsx'
import { type RunStore, watchRun } from './run-store.ts'
import { callsOf, hasEnded, type RunView } from './run-view.ts'
import { StepDetail } from './step-detail.tsx'
import { timelineOf } from './timeline.ts'

/** How often the open end of the timeline moves. */
const TICK_MS = 250

interface PanelProps {
  readonly address: RunAddress
  /** The row whose details are shown: a call's id, `step-N`, or none for the run. */
  readonly item: string | undefined
  readonly endedAt: number | undefined
}

/** A run: its figures, its timeline, and the details of what is selected in it. */
export function RunPanel({ address, item, endedAt }: PanelProps): JSX.Element {
  const store = useMemo(() => watchRun(address), [address.conversation, address.run])
  /** How many events are shown, while they are replayed. */
  const replayed = useSignal<RunView | undefined>(undefined)
  useEffect(() => void (replayed.value = undefined), [store])
  const run = replayed.value ?? store.view.value
  const now = useNow(store)
  // When the end arrived here is later than when it happened.
  const ended = endedAt ?? store.endedAt.value
  const until = hasEnded(run) ? (ended ?? 0) : now
  const timeline = useMemo(() => timelineOf(run, until), [run, until])
  const to = (key?: string) => hrefOf({ page: 'chat', ...address, ...(key && { item: key }) })
  const step = run.steps.find(({ number }) => item === `step-${number}`)
  const call = callsOf(run).find(({ id }) => id === item)
  return (
    <section class="run" aria-label="Run">
      <Figures run={run} timeline={timeline} />
      {store.error.value !== undefined && <ErrorNote error={store.error.value} />}
      {run.error && <FaultNote {...run.error} />}
      <Chart timeline={timeline} selected={item} hrefOf={to} />
      {run.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      <Replay store={store} onShow={(view) => (replayed.value = view)} />
      {call ? (
        <CallDetail key={call.id} call={call} address={address} />
      ) : step ? (
        <StepDetail key={step.number} step={step} address={address} />
      ) : (
        <RunDetail run={run} address={address} />
      )}
    </section>
  )
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
