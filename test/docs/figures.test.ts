import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { costOf, printCost, usageOfRun } from '../../src/cli/cost/print.ts'
import type { Terminal } from '../../src/cli/command/terminal.ts'
import { namesOf } from '../../src/cli/project/names.ts'
import { greetingFiles } from '../../src/cli/project/tool-files.ts'
import { pages, ROOT } from './pages.ts'

const pageAt = (path: string) => pages().find((page) => page.path === path)

/** The rows of the table below a heading: the texts of their cells. */
function rowsBelow(text: string, heading: string): string[][] {
  const section = text.slice(text.indexOf(`\n${heading}\n`) + heading.length)
  const [table = ''] = /(?:^\|.*\n)+/m.exec(section) ?? []
  const rows = table.trim().split('\n').slice(2)
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const dollars = (amount: number) => `$${Math.round(amount).toLocaleString('en')}`

test('the table of three loads in docs/cost.md is what the command computes', () => {
  const rows = rowsBelow(pageAt('docs/cost.md')?.text ?? '', '## Three loads')
  expect(rows).toHaveLength(3)
  for (const [perDay = '', ...cells] of rows) {
    const runs = Number(perDay.replaceAll(',', '')) * 30
    const cloudflare = costOf({ runs, steps: 3, seconds: 2, isStored: true }).total
    const models = (runs * 3 * (1500 * 0.4 + 100 * 1.6)) / 1e6
    const share = `${((100 * cloudflare) / (cloudflare + models)).toFixed(1)}%`
    expect(cells).toEqual([dollars(cloudflare), dollars(models), share])
  }
})

test('docs/cost.md shows what the command prints', () => {
  let printed = ''
  const print = (text: string) => void (printed += text)
  const terminal: Terminal = {
    isJson: false,
    print,
    emit: () => {},
    askSecret: () => Promise.reject(new Error()),
    confirm: () => Promise.resolve(false),
  }
  printCost({ terminal, runs: '1e6', steps: '3', unstored: false })
  expect(pageAt('docs/cost.md')?.blocks.find(({ language }) => language === 'text')?.text).toBe(printed)
})

test('docs/cost.md says what the command takes a run to use', () => {
  const rows = rowsBelow(pageAt('docs/cost.md')?.text ?? '', '## What a run uses')
  const usage = Object.entries(usageOfRun({ steps: 3, seconds: 2, isStored: true }))
  const round = (amount: number) => String(Math.round(amount * 100) / 100)
  const amounts = Object.fromEntries(rows.map(([item = '', amount = '']) => [item, amount]))
  expect(amounts).toEqual(Object.fromEntries(usage.map(([item, amount]) => [item, round(amount)])))
})

test('docs/testing.md shows the test that `edgecall new tool` writes', () => {
  const block = pageAt('docs/testing.md')?.blocks.find(({ text }) =>
    text.startsWith('// tools/greeting/greeting.test.ts'),
  )
  const files = greetingFiles(namesOf('greeting'), 'my-greeting')
  expect(block?.text.replace(/^.*\n/, '')).toBe(files['tools/greeting/greeting.test.ts'])
})

test('docs/logs.md lists the log entries of the code, with no other', () => {
  const rows = rowsBelow(pageAt('docs/logs.md')?.text ?? '', '## Entries')
  const events = rows.map(([event = '']) => event.replaceAll('`', ''))
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).filter((path) => !/^src\/(?:studio|cli|platform)\//.test(path))
  const logged = sources.flatMap((path) => {
    const code = readFileSync(`${ROOT}${path}`, 'utf8').replaceAll(/\/\*[^]*?\*\//g, '')
    return [...code.matchAll(/\bevent: (?![A-Z(])[^,\n]*/g)].flatMap(([text]) =>
      [...text.matchAll(/'([a-z_]+(?:\.[a-z_]+)*)'/g)].map(([, event = '']) => event),
    )
  })
  expect(events.sort()).toEqual([...new Set(logged)].sort())
})

test('README has the figures of docs/performance.md', () => {
  const [readme = '', performance = ''] = ['README.md', 'docs/performance.md'].map((path) => pageAt(path)?.text ?? '')
  const [, mean] = /^\| CPU, geometric mean +\| +([\d.]+) ×/m.exec(performance) ?? []
  const [, size] = /about (\d+ KiB) gzip with one provider/.exec(performance) ?? []
  expect(readme).toContain(`**Small**: ${size} gzip and ${mean} times the CPU time of a loop written by hand.`)
  expect(readme).toMatch(new RegExp(`^\\| Smallest Worker with a loop, gzip +\\| ${size} `, 'm'))
})
