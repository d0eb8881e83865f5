import { readFileSync, writeFileSync } from 'node:fs'
import { type Cell, cpuOf, ratioOf } from './cost.ts'
import type { FirstTokens } from './first-token.ts'
import type { Start } from './start.ts'
import { geometricMean, type Quartiles } from './statistics.ts'
import { ALONE, WORKLOADS } from './workloads.ts'

const PAGE = new URL('../../docs/performance.md', import.meta.url).pathname
const FLOORS = ['raw', 'raw-sse', 'raw-do'] as const

/** Prints the cells of a workload: CPU and wall time of each subject, with quartiles, and its CPU over each floor. */
export function printCells(cells: readonly Cell[]): void {
  const [first] = cells
  if (!first) return
  console.log(`\n${first.workload}`)
  for (const { subject, cpu, wall, ratios } of cells) {
    const texts = FLOORS.flatMap((floor) => {
      const ratio = ratios[floor]
      return ratio ? `${ratio.middle.toFixed(2)} × ${floor}` : []
    })
    console.log(`  ${subject.padEnd(14)} CPU ${range(cpu)}  wall ${range(wall)}  ${texts.join('  ')}`)
  }
}

/** Prints what follows from all cells: means, and the costs of one token, one step and one part of an argument. */
export function printSummary(cells: readonly Cell[]): void {
  const subjects = [...new Set(cells.map(({ subject }) => subject))]
  console.log('\nGeometric mean of CPU over each floor, and CPU µs of one')
  for (const subject of subjects) {
    const means = FLOORS.flatMap((floor) => {
      const mean = meanOf(cells, subject, floor)
      return Number.isNaN(mean) ? [] : `${mean.toFixed(2)} × ${floor}`
    })
    const { token, step, part } = unitsOf(cells, subject)
    const units = `token ${token.toFixed(1)}  step ${step.toFixed(0)}  argument part ${part.toFixed(1)}`
    console.log(`  ${subject.padEnd(14)} ${means.join('  ').padEnd(44)} ${units}`)
  }
}

export function printStarts(starts: readonly Start[]): void {
  console.log('\nCold start beyond an empty Worker')
  for (const { name, gzipKib, laterMs, moreCpuMs, moreMib } of starts) {
    console.log(
      `  ${name.padEnd(14)} ${gzipKib.toFixed(1)} KiB gzip  later ${range(laterMs)}  CPU more ${range(moreCpuMs)}  more ${moreMib.middle.toFixed(1)} MiB`,
    )
  }
}

export function printFirstTokens(waits: FirstTokens): void {
  console.log('\nFirst token, from model to caller')
  for (const [name, wait] of Object.entries(waits)) console.log(`  ${name.padEnd(14)} ${range(wait)}`)
}

/** Everything that the table of docs/performance.md says. */
export interface Results {
  readonly cells: readonly Cell[]
  readonly waits: FirstTokens
  readonly starts: readonly Start[]
}

const COLUMNS = [
  ['Edgecall', 'edge', 'raw'],
  ['AI SDK', 'AI SDK', 'raw'],
  ['TanStack AI', 'TanStack AI', 'raw'],
  ['Edgecall, stored', 'edge, stored', 'raw-do'],
] as const

/** Writes the table of docs/performance.md. */
export function writeTable(results: Results): void {
  const page = readFileSync(PAGE, 'utf8')
  const marked = /(<!-- bench -->\n)[^]*(<!-- \/bench -->)/
  if (!marked.test(page)) throw new Error('docs/performance.md has no place for the table')
  writeFileSync(
    PAGE,
    page.replace(marked, (_, from: string, to: string) => `${from}\n${tableOf(results)}\n${to}`),
  )
}

function tableOf({ cells, waits, starts }: Results): string {
  const rows = [
    ['', ...COLUMNS.map(([title]) => title)],
    ['-', '-:', '-:', '-:', '-:'],
    ...[...new Set(cells.map(({ workload }) => workload))].map((workload) => [
      `CPU, ${workload}`,
      ...COLUMNS.map(([, subject, floor]) => times(ratioOf(cells, subject, workload, floor))),
    ]),
    ['CPU, geometric mean', ...COLUMNS.map(([, subject, floor]) => times(meanOf(cells, subject, floor)))],
    ['first token, later', ...COLUMNS.map(([, subject, floor]) => later(waits, subject, floor))],
    [
      'cold start, CPU more than empty',
      ...COLUMNS.map(([, subject]) => startOf(starts, subject, ({ moreCpuMs }) => `${moreCpuMs.middle.toFixed(0)} ms`)),
    ],
    [
      'weight, gzip',
      ...COLUMNS.map(([, subject]) => startOf(starts, subject, ({ gzipKib }) => `${gzipKib.toFixed(0)} KiB`)),
    ],
  ]
  return rows.map((row) => `| ${row.join(' | ')} |\n`).join('')
}

function times(ratio: number): string {
  return Number.isNaN(ratio) ? '' : `${ratio.toFixed(1)} ×`
}

function later(waits: FirstTokens, subject: string, floor: string): string {
  const [own, least] = [waits[subject], waits[floor]]
  return own && least ? `${Math.max(0, own.middle - least.middle).toFixed(1)} ms` : ''
}

function startOf(starts: readonly Start[], subject: string, text: (start: Start) => string): string {
  const start = starts.find(({ name }) => name === subject)
  return start ? text(start) : ''
}

/** The geometric mean over the workloads that a subject shares with the floor. */
function meanOf(cells: readonly Cell[], subject: string, floor: string): number {
  const shared = [...WORKLOADS, ...ALONE].map(({ name }) => ratioOf(cells, subject, name, floor))
  return geometricMean(shared.filter((ratio) => !Number.isNaN(ratio)))
}

/** CPU of one more token, step and part of an argument, in microseconds. */
function unitsOf(cells: readonly Cell[], subject: string) {
  const cpu = (workload: string) => cpuOf(cells, subject, workload)
  return {
    token: ((cpu('2,000 tokens, streamed') - cpu('an answer, streamed')) * 1000) / 1992,
    step: ((cpu('10 steps of a tool') - cpu('an answer')) * 1000) / 10,
    part: ((cpu('an argument of 2,000 parts') - cpu('an answer, streamed')) * 1000) / 2000,
  }
}

function range({ low, middle, high }: Quartiles): string {
  return `${middle.toFixed(2).padStart(7)} ms [${low.toFixed(2)}–${high.toFixed(2)}]`.padEnd(25)
}
