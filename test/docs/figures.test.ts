import { globSync, readFileSync } from 'node:fs'
import { transform } from 'esbuild'
import { expect, test } from 'vitest'
import { namesOf } from '../../src/cli/project/names.ts'
import { toolFiles } from '../../src/cli/project/tool-files.ts'
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

test('the table of three loads in docs/cost.md is what its code computes', async () => {
  const page = pageAt('docs/cost.md')
  const source = page?.blocks.find(({ text }) => text.startsWith('// cost.ts'))?.text ?? ''
  const { code } = await transform(source, { loader: 'ts' })
  const { monthlyCost, modelCost } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const dollars = (amount: number) => `$${Math.round(amount).toLocaleString('en')}`
  const rows = rowsBelow(page?.text ?? '', '## Three loads')
  expect(rows).toHaveLength(3)
  for (const [perDay = '', ...cells] of rows) {
    const runs = Number(perDay.replaceAll(',', '')) * 30
    const [cloudflare, models] = [monthlyCost(runs), modelCost(runs)]
    const share = `${((100 * cloudflare) / (cloudflare + models)).toFixed(1)}%`
    expect(cells).toEqual([dollars(cloudflare), dollars(models), share])
  }
})

test('docs/testing.md shows the test that `edgecall new tool` writes', () => {
  const block = pageAt('docs/testing.md')?.blocks.find(({ text }) =>
    text.startsWith('// tools/greeting/greeting.test.ts'),
  )
  const files = toolFiles(namesOf('greeting'), 'my-greeting')
  expect(block?.text.replace(/^.*\n/, '')).toBe(files['tools/greeting/greeting.test.ts'])
})

test('docs/observe.md lists the log entries of the code, with no other', () => {
  const rows = rowsBelow(pageAt('docs/observe.md')?.text ?? '', '## Logs')
  const listed = rows.map(([event = '']) => event.replaceAll('`', ''))
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).filter((path) => !/^src\/(?:studio|cli)\//.test(path))
  const logged = sources.flatMap((path) => {
    const code = readFileSync(`${ROOT}${path}`, 'utf8').replaceAll(/\/\*[^]*?\*\//g, '')
    return [...code.matchAll(/\bevent: (?![A-Z(])[^,\n]*/g)].flatMap(([text]) =>
      [...text.matchAll(/'([a-z_]+(?:\.[a-z_]+)*)'/g)].map(([, event = '']) => event),
    )
  })
  expect(listed.sort()).toEqual([...new Set(logged)].sort())
})
