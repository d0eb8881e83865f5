import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { FaultNote } from '../part/problem.tsx'
import { visible } from '../part/text.ts'
import { hrefOf, type StudioRoute, type RunAddress } from '../route.ts'
import { Chart, Figures } from '../run/chart.tsx'
import { findEnd, watchRun } from '../run/run-store.ts'
import { hasEnded } from '../run/run-view.ts'
import { timelineOf } from '../run/timeline.ts'

type CompareRoute = Extract<StudioRoute, { readonly page: 'compare' }>

/** Two runs side by side. */
export function Compare({ first, second }: CompareRoute): JSX.Element {
  return (
    <div class="page wide">
      <h1>Two runs compared</h1>
      <div class="sides">
        <Side name="First run" address={first} />
        <Side name="Second run" address={second} />
      </div>
    </div>
  )
}

function Side({ name, address }: { readonly name: string; readonly address: RunAddress }): JSX.Element {
  const store = useMemo(() => watchRun(address), [address.conversation, address.run])
  const run = store.view.value
  const isOver = hasEnded(run)
  useEffect(() => {
    // Without it, the time of the last answer is not known exactly.
    if (isOver) findEnd(store).catch(() => {})
  }, [isOver, store])
  const timeline = timelineOf(run, isOver ? (store.endedAt.value ?? 0) : Date.now())
  const hrefTo = (item: string) => hrefOf({ page: 'chat', ...address, item })
  return (
    <section aria-label={name}>
      <h2>
        <a href={hrefOf({ page: 'chat', ...address })}>{run.model ?? 'Run'}</a>
      </h2>
      <Figures run={run} timeline={timeline} />
      <Chart timeline={timeline} selected={undefined} hrefOf={hrefTo} />
      {run.error && <FaultNote {...run.error} />}
      <p class="text">{visible(run.answer || (run.steps.at(-1)?.text ?? ''))}</p>
    </section>
  )
}
