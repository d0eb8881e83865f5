import type { JSX } from 'preact'
import { costText } from '../api/session.ts'
import { visible } from '../../contract/hidden-characters.ts'
import { amount, percent, quantity } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { tools } from '../tool/catalogue.ts'

/** The usage of one model, key or tool, on a day or in a range of days. */
export interface UsageLine {
  readonly day?: string
  readonly name: string
  readonly runs: number
  readonly calls: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly cost: number
}

interface ShareProps {
  readonly title: string
  readonly noun: string
  readonly rows: readonly UsageLine[]
  readonly hasPrices: boolean
  readonly count: 'runs' | 'calls'
  /** The filter of the runs to which a name leads. */
  readonly filter: 'model' | 'key' | 'tool'
}

/** The rows that are shown before those that used least are summed up. */
const MOST_ROWS = 12

/** Rows of usage with their share as a bar, the greatest first. */
export function ShareTable({ title, noun, rows, hasPrices, count, filter }: ShareProps): JSX.Element {
  const figure = (row: UsageLine) => (hasPrices ? row.cost : row.inputTokens + row.outputTokens)
  const sorted = rows.toSorted((a, b) => figure(b) - figure(a) || b[count] - a[count])
  const most = Math.max(...sorted.map(figure), 0)
  const total = sorted.reduce((all, row) => all + figure(row), 0)
  const rest = sorted.length - MOST_ROWS
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{noun}</th>
            <th scope="col">
              <span class="hidden">Share as a bar</span>
            </th>
            <th scope="col" class="num">
              Share
            </th>
            <th scope="col" class="num">
              {count === 'runs' ? 'Runs' : 'Calls'}
            </th>
            <th scope="col" class="num">
              Tokens
            </th>
            <th scope="col" class="num">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, MOST_ROWS).map((row) => (
            <tr key={row.name}>
              <td class="wide">
                <a
                  href={hrefOf({
                    page: 'runs',
                    filter: row.name === '' ? '' : `${filter}=${encodeURIComponent(row.name)}`,
                  })}
                >
                  {filter === 'model' ? shortName(row.name) : visible(row.name) || 'without a key'}
                </a>{' '}
                {filter === 'tool' && tools.value.get(row.name)?.source === 'agent' && <span class="faint">agent</span>}
                {filter === 'model' && hasPrices && row.cost === 0 && <span class="faint">no price set</span>}
              </td>
              <td>
                <svg class="share" aria-hidden="true">
                  <rect width="64" height="8" rx="2" />
                  <rect width={most > 0 ? (64 * figure(row)) / most : 0} height="8" rx="2" fill="var(--model)" />
                </svg>
              </td>
              <td class="num">{percent(figure(row), total)}</td>
              <td class="num">{row[count].toLocaleString('en')}</td>
              <td class="num">{amount(row.inputTokens + row.outputTokens)}</td>
              <td class="num">{row.cost > 0 ? costText(row.cost) : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && <p class="pad hint">and {quantity(rest, 'other')} that used less; the export has all</p>}
      {rows.length === 0 && <p class="pad hint">None</p>}
    </section>
  )
}

/** Tools by their calls. Those that ask models themselves, as agents do, have tokens and a cost of their own. */
export function ToolTable({
  rows,
  hasPrices,
}: {
  readonly rows: readonly UsageLine[]
  readonly hasPrices: boolean
}): JSX.Element {
  const agents = rows.filter(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0)
  const isByCalls = agents.length === 0
  const byCalls = rows.toSorted((a, b) => b.calls - a.calls)
  if (!isByCalls) {
    return (
      <ShareTable title="Tools and agents" noun="Tool" rows={rows} hasPrices={hasPrices} count="calls" filter="tool" />
    )
  }
  const most = Math.max(...byCalls.map(({ calls }) => calls), 1)
  return (
    <section class="panel" aria-label="Tools and agents">
      <header>
        <h2>Tools and agents</h2>
        <span class="hint">none of them asks a model itself</span>
      </header>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col">
              <span class="hidden">Calls as a bar</span>
            </th>
            <th scope="col" class="num">
              Runs
            </th>
            <th scope="col" class="num">
              Calls
            </th>
          </tr>
        </thead>
        <tbody>
          {byCalls.slice(0, MOST_ROWS).map(({ name, runs, calls }) => (
            <tr key={name}>
              <td class="wide">
                <a class="mono" href={hrefOf({ page: 'runs', filter: `tool=${encodeURIComponent(name)}` })}>
                  {visible(name)}
                </a>
              </td>
              <td>
                <svg class="share" aria-hidden="true">
                  <rect width="64" height="8" rx="2" />
                  <rect width={(64 * calls) / most} height="8" rx="2" fill="var(--model)" />
                </svg>
              </td>
              <td class="num">{runs.toLocaleString('en')}</td>
              <td class="num">{calls.toLocaleString('en')}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="pad hint">No tool was called</p>}
    </section>
  )
}

/** A model without its provider. */
export function shortName(model: string): string {
  return visible(model.split('/').at(-1) ?? model)
}
