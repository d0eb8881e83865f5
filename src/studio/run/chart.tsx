import type { JSX } from 'preact'
import { memo } from '../part/memo.tsx'
import { argumentHint, duration, money } from '../part/text.ts'
import { type Bar, type Row, type Timeline } from './timeline.ts'
import type { CallView, RunView } from './run-view.ts'

/** What a call's state is called. */
export const CALL_STATE: Readonly<Record<CallView['state'], string>> = {
  proposed: 'asked for',
  approval: 'needs approval',
  rejected: 'rejected',
  caller: 'left to the caller',
  suspended: 'waits for its calls',
  running: 'running',
  later: 'answers later',
  interrupted: 'interrupted',
  ok: 'done',
  failed: 'failed',
}

const KIND = { model: 'model', tool: 'running', wait: 'waiting', lost: 'lost' }

interface ChartProps {
  readonly timeline: Timeline
  readonly selected: string | undefined
  readonly hrefOf: (key: string) => string
}

/** The timeline of a run: a row for each step and call, with bars on one time axis. Each row leads to its details. */
export function Chart({ timeline, selected, hrefOf }: ChartProps): JSX.Element {
  return (
    <div class="chart">
      <div class="axis" aria-hidden="true">
        <span class="track">
          {timeline.ticks.map(({ left, ms }) => (
            <span key={ms} class="tick" style={{ left: `${left}%` }}>
              {duration(ms)}
            </span>
          ))}
        </span>
      </div>
      <ol aria-label="Timeline">
        {timeline.rows.map((row) => (
          <ChartRow key={row.key} row={row} isSelected={row.key === selected} href={hrefOf(row.key)} />
        ))}
      </ol>
    </div>
  )
}

interface RowProps {
  readonly row: Row
  readonly isSelected: boolean
  readonly href: string
}

const ChartRow = memo(ShownRow, isSameRow)

/** Rows are made again with every event; most of them look as before. */
function isSameRow(before: RowProps, after: RowProps): boolean {
  const [a, b] = [before.row, after.row]
  const isSame = before.isSelected === after.isSelected && before.href === after.href
  return isSame && a.call === b.call && a.step === b.step && JSON.stringify(a.bars) === JSON.stringify(b.bars)
}

function ShownRow({ row, isSelected, href }: RowProps): JSX.Element {
  const total = row.bars.reduce((sum, { ms }) => sum + ms, 0)
  const time = row.bars.length > 0 ? duration(total) : ''
  const content = (
    <>
      <span class="name" title={row.call && `${row.call.tool} ${row.call.arguments}`}>
        {nameOf(row)}
        {row.call && <span class="note"> {argumentHint(row.call.arguments)}</span>}
      </span>
      <span class="track" aria-hidden="true">
        {row.bars.map((bar, index) => (
          <BarMark key={index} bar={bar} row={row} />
        ))}
      </span>
      <span class="time">
        {row.call && <span class="hidden">{`${CALL_STATE[row.call.state]}, `}</span>}
        {time}
      </span>
    </>
  )
  return (
    <li class={`row row-${row.kind} ${row.call ? `is-${row.call.state}` : ''}`}>
      {row.kind === 'wait' ? (
        <span class="line">{content}</span>
      ) : (
        <a class="line" href={href} aria-current={isSelected ? 'true' : undefined}>
          {content}
        </a>
      )}
    </li>
  )
}

function BarMark({ bar, row }: { readonly bar: Bar; readonly row: Row }): JSX.Element {
  const state = row.call?.state === 'failed' || row.call?.state === 'rejected' ? 'is-bad' : ''
  return (
    <span
      class={`bar bar-${bar.kind} ${bar.isOpen ? 'is-open' : ''} ${state}`}
      style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
      title={`${KIND[bar.kind]} ${duration(bar.ms)}`}
    />
  )
}

function nameOf({ kind, step, call }: Row): string {
  if (call) {
    const attempt = call.attempts.length > 1 ? ` · attempt ${call.attempts.at(-1)?.number}` : ''
    return `${call.tool}${attempt}`
  }
  if (kind === 'wait' || !step) return 'Waiting'
  return step.attempt > 1 ? `Step ${step.number} · attempt ${step.attempt}` : `Step ${step.number}`
}

/** The figures of a run: where its time went, what it used, and how many steps and calls it took. */
export function Figures({ run, timeline }: { readonly run: RunView; readonly timeline: Timeline }): JSX.Element {
  const calls = run.steps.reduce((sum, step) => sum + step.calls.length, 0)
  const { inputTokens, outputTokens, cost } = run.usage ?? sumOf(run)
  return (
    <dl class="figures">
      <Figure name="Total" value={duration(timeline.totalMs)} />
      <Figure name="Model" value={duration(timeline.modelMs)} kind="model" />
      <Figure name="Tools" value={duration(timeline.toolMs)} kind="tool" />
      {timeline.waitMs > 0 && <Figure name="Waiting" value={duration(timeline.waitMs)} kind="wait" />}
      <Figure name="Steps" value={String(run.steps.length)} />
      <Figure name="Calls" value={String(calls)} />
      <Figure
        name="Tokens"
        value={`${inputTokens.toLocaleString('en')} in · ${outputTokens.toLocaleString('en')} out`}
      />
      {cost !== undefined && <Figure name="Cost" value={money(cost)} />}
    </dl>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly kind?: 'model' | 'tool' | 'wait'
}

function Figure({ name, value, kind }: FigureProps): JSX.Element {
  return (
    <div class={kind ? `figure key-${kind}` : 'figure'}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function sumOf({ steps }: RunView): { inputTokens: number; outputTokens: number; cost?: number } {
  let [inputTokens, outputTokens] = [0, 0]
  for (const { usage } of steps) {
    inputTokens += usage?.inputTokens ?? 0
    outputTokens += usage?.outputTokens ?? 0
  }
  return { inputTokens, outputTokens }
}
