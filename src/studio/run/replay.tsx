import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { foldEvent } from './fold.ts'
import type { RunStore } from './run-store.ts'
import { emptyRun, hasEnded, type RunView } from './run-view.ts'

/** The pause between two events of a replay. */
const STEP_MS = 120

interface ReplayProps {
  readonly store: RunStore
  /** Shows the run as it was after an event; undefined as it is. */
  readonly onShow: (view: RunView | undefined) => void
}

/** Plays the events of a run that has ended once more, or shows the run as it stood after one of them. */
export function Replay({ store, onShow }: ReplayProps): JSX.Element | null {
  const at = useSignal<number | undefined>(undefined)
  const isPlaying = useSignal(false)
  const { events } = store
  const show = (next: number | undefined) => {
    at.value = next
    onShow(next === undefined ? undefined : { ...events.slice(0, next).reduce(foldEvent, emptyRun(store.address.run)) })
  }
  useEffect(() => {
    if (!isPlaying.value) return undefined
    const timer = setInterval(() => {
      const next = nextShown(store, at.peek() ?? 0)
      if (next < events.length) return show(next)
      show(undefined)
      isPlaying.value = false
    }, STEP_MS)
    return () => clearInterval(timer)
  }, [isPlaying.value])
  if (!hasEnded(store.view.value) || events.length === 0) return null
  const position = at.value ?? events.length
  const type = events[position - 1]?.type ?? ''
  return (
    <div class="replay">
      <button type="button" class="btn" onClick={() => (isPlaying.value = !isPlaying.value)}>
        {isPlaying.value ? 'Pause' : 'Replay'}
      </button>
      <input
        type="range"
        aria-label="Event"
        aria-valuetext={`${position} of ${events.length}: ${type}`}
        min={1}
        max={events.length}
        value={position}
        onInput={(event) => {
          isPlaying.value = false
          const next = Number(event.currentTarget.value)
          show(next === events.length ? undefined : next)
        }}
      />
      <code>
        {position}/{events.length} {type}
      </code>
    </div>
  )
}

/** The deltas of a text are replayed many at a time. */
function nextShown({ events }: RunStore, at: number): number {
  let next = at + 1
  while (next < events.length && next < at + 12 && events[next - 1]?.type.endsWith('.delta')) next++
  return next
}
