import type { JSX } from 'preact'
import { FaultNote } from '../part/problem.tsx'
import { Prose } from '../part/prose.tsx'
import { runLook, StateBadge } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { hrefOf, type StudioRoute } from '../route.ts'
import { Chart } from '../run/chart.tsx'
import { Figures, useRun } from '../run/run-panel.tsx'
import { hasEnded } from '../run/run-view.ts'
import { timelineOf } from '../run/timeline.ts'

type CompareRoute = Extract<StudioRoute, { readonly page: 'compare' }>

/** Two runs side by side, on time axes of the same length. */
export function Compare({ first, second }: CompareRoute): JSX.Element {
  const sides = [
    { name: 'First run', address: first, side: useRun(first) },
    { name: 'Second run', address: second, side: useRun(second) },
  ]
  const axisMs = Math.max(...sides.map(({ side: { timeline } }) => timeline.totalMs - timeline.waitMs))
  return (
    <>
      <header class="head">
        <h1>Two runs compared</h1>
      </header>
      <div class="split even compared">
        {sides.map(({ name, address, side: { run, store, timeline } }) => {
          const until = hasEnded(run) ? (run.endedAt ?? store.endedAt.value ?? 0) : Date.now()
          return (
            <section key={name} aria-label={name}>
              <div class="scroll" tabIndex={0}>
                <div class="detail">
                  <header>
                    <h2>
                      <a class="link" href={hrefOf({ page: 'chat', ...address })}>
                        {visible(run.model ?? 'Run')}
                      </a>
                    </h2>
                    <StateBadge look={runLook(run.status, run.which)} />
                    <span class="faint">{name}</span>
                  </header>
                </div>
                <Figures run={run} timeline={timeline} />
                <Chart
                  timeline={timelineOf(run, until, axisMs)}
                  selected={undefined}
                  hrefOf={(item) => hrefOf({ page: 'run', ...address, item })}
                  isSmall
                />
                <div class="pad stack">
                  {run.error && <FaultNote {...run.error} />}
                  <Prose text={run.answer || (run.steps.at(-1)?.text ?? '')} />
                </div>
              </div>
            </section>
          )
        })}
      </div>
    </>
  )
}
