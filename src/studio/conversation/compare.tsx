import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { FaultNote } from '../part/problem.tsx'
import { visible } from '../part/text.ts'
import { hrefOf, type StudioRoute, type RunAddress } from '../route.ts'
import { Chart, Figures } from '../run/chart.tsx'
import { findEnd, watchRun } from '../run/run-store.ts'
import { hasEnded, type RunView } from '../run/run-view.ts'
import { timelineOf } from '../run/timeline.ts'

type CompareRoute = Extract<StudioRoute, { readonly page: 'compare' }>

/** Two runs side by side, on time axes of the same length. */
export function Compare({ first, second }: CompareRoute): JSX.Element {
  const runs = [useRun(first), useRun(second)]
  const busyMs = runs.map(({ run, until }) => {
    const { totalMs, waitMs } = timelineOf(run, until)
    return totalMs - waitMs
  })
  const names = ['First run', 'Second run']
  return (
    <div class="page wide">
      <h1>Two runs compared</h1>
      <div class="sides">
        {runs.map((side, index) => (
          <Side key={index} name={names[index] ?? ''} side={side} axisMs={Math.max(...busyMs)} />
        ))}
      </div>
    </div>
  )
}

/** A run, and the end of its timeline in epoch milliseconds. */
interface ComparedRun {
  readonly address: RunAddress
  readonly run: RunView
  readonly until: number
}

function useRun(address: RunAddress): ComparedRun {
  const store = useMemo(() => watchRun(address), [address.conversation, address.run])
  const run = store.view.value
  const isOver = hasEnded(run)
  useEffect(() => {
    // Without it, the time of the last answer is not known exactly.
    if (isOver) findEnd(store).catch(() => {})
  }, [isOver, store])
  return { address, run, until: isOver ? (store.endedAt.value ?? 0) : Date.now() }
}

interface SideProps {
  readonly name: string
  readonly side: ComparedRun
  readonly axisMs: number
}

function Side({ name, side: { address, run, until }, axisMs }: SideProps): JSX.Element {
  const timeline = timelineOf(run, until, axisMs)
  const hrefTo = (item: string) => hrefOf({ page: 'chat', ...address, item })
  return (
    <section aria-label={name}>
      <h2>
        <a href={hrefOf({ page: 'chat', ...address })}>{run.model ?? 'Run'}</a> <span class="note">{name}</span>
      </h2>
      <Figures run={run} timeline={timeline} />
      <Chart timeline={timeline} selected={undefined} hrefOf={hrefTo} />
      {run.error && <FaultNote {...run.error} />}
      <p class="text">{visible(run.answer || (run.steps.at(-1)?.text ?? ''))}</p>
    </section>
  )
}
