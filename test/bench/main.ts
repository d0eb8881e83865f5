import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchCatalogue } from './catalogue.ts'
import { type Cell, measureCosts } from './cost.ts'
import { benchFlood } from './flood.ts'
import { type FirstTokens, measureFirstTokens } from './first-token.ts'
import { benchMemory } from './memory.ts'
import { startModelServer } from './model-server.ts'
import { benchPrograms } from './programs.ts'
import { benchRecall } from './recall.ts'
import { printCells, printFirstTokens, printStarts, printSummary, writeTable } from './report.ts'
import { benchSearch } from './search.ts'
import { measureStarts, type Start } from './start.ts'
import { buildAll, startSubjects } from './subjects.ts'

/**
 * `npm run bench` measures what the edge costs beside hand-written loops and two libraries, each in a bare workerd of its
 * own, and writes the table of docs/performance.md. `npm run bench -- --quick` leaves the libraries out, measures fewer
 * rounds, and writes nothing.
 *
 * Parts are measured alone when named: `cost`, `first-token`, `start`; and, not part of the table, `search`, `catalogue`,
 * `programs`, `flood`, `memory`.
 * `npm run bench -- recall FOLDER` tells how well labelled sets of your own are found.
 */
const FOLDER = new URL('.', import.meta.url).pathname
const TABLE = ['cost', 'first-token', 'start']
/** The parts that are not of the table. */
const ALONE: Readonly<Record<string, () => Promise<void>>> = {
  search: benchSearch,
  catalogue: benchCatalogue,
  programs: benchPrograms,
  flood: benchFlood,
  memory: benchMemory,
}
const THOROUGH = { rounds: 8, longest: 10_000, starts: 15 }
const QUICK = { rounds: 4, longest: 1000, starts: 5 }

const words = process.argv.slice(2)
const isQuick = words.includes('--quick')
const names = words.filter((word) => word !== '--quick')
const unknown =
  names[0] === 'recall' ? undefined : names.find((name) => !TABLE.includes(name) && !Object.hasOwn(ALONE, name))
if (unknown !== undefined) {
  console.error(
    `There is no part "${unknown}". The parts: ${[...TABLE, ...Object.keys(ALONE), 'recall FOLDER'].join(', ')}`,
  )
  process.exit(2)
}
if (names[0] === 'recall') await benchRecall(names[1] ?? '.')
else {
  if (names.length === 0 || names.some((part) => TABLE.includes(part))) await benchTable()
  for (const name of names) await ALONE[name]?.()
}
process.exit(0)

/** Measures the parts of the table that are named, by default all, and then writes it. */
async function benchTable(): Promise<void> {
  const isNamed = (part: string) => names.length === 0 || names.includes(part)
  const effort = isQuick ? QUICK : THOROUGH
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-bench-'))
  const model = await startModelServer()
  try {
    const bundles = await buildAll(folder)
    let cells: readonly Cell[] = []
    let waits: FirstTokens = {}
    let starts: readonly Start[] = []
    if (isNamed('cost') || isNamed('first-token')) {
      const { subjects, stop } = await startSubjects(bundles, { model, folder, withLibraries: !isQuick })
      if (isNamed('cost')) printSummary((cells = await measureCosts(subjects, effort, printCells)))
      if (isNamed('first-token')) printFirstTokens((waits = await measureFirstTokens(subjects, effort.rounds)))
      await stop()
    }
    if (isNamed('start')) printStarts((starts = await measureStarts(bundles, folder, effort.starts)))
    if (names.length === 0 && !isQuick) {
      writeTable({ cells, waits, starts })
      execFileSync(join(FOLDER, '../../node_modules/.bin/oxfmt'), ['docs/performance.md'], {
        cwd: join(FOLDER, '../..'),
      })
    }
  } finally {
    model.stop()
    rmSync(folder, { recursive: true })
  }
}
