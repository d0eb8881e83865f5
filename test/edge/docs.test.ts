import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'
import { type Block, pages } from '../docs/pages.ts'
import { npmStart } from './npm-start.ts'
import { hasSamples } from './stage.ts'

const run = promisify(execFile)
const root = new URL('../..', import.meta.url).pathname
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The tool that README shows. */
function tool(): string {
  const [, code] = /^```ts\n(.*?rollDice.*?)^```$/ms.exec(readme) ?? []
  if (!code) throw new Error('README shows no tool')
  return code
}

const copy = mkdtempSync(join(tmpdir(), 'readme-'))
afterAll(() => rmSync(copy, { recursive: true }))

test('the tool from README, in a Worker that `edgecall new tool` has written and bound, is found and called', async () => {
  for (const name of ['src', 'node_modules', 'package.json', 'tsconfig.json'])
    symlinkSync(join(root, name), join(copy, name))
  cpSync(join(root, 'tools'), join(copy, 'tools'), { recursive: true })
  cpSync(join(root, 'wrangler.toml'), join(copy, 'wrangler.toml'))
  await run('node', [join(root, 'src/cli/main.ts'), 'new', 'tool', 'roll-dice'], { cwd: copy })
  writeFileSync(join(copy, 'tools/roll-dice/index.ts'), tool())
  const tools = readdirSync(join(copy, 'tools'))
  const server = createTestHarness({
    root: copy,
    workers: ['wrangler.toml', ...tools.map((name) => `tools/${name}/wrangler.toml`)].map((configPath, index) => ({
      configPath,
      ...(index === 0 && { vars: { AUTH: 'open' } }),
    })),
  })
  try {
    const { url } = await server.listen()
    const call = async (args: object) => {
      const response = await fetch(new URL('/tools/rollDice/call', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ arguments: args }),
      })
      return (await response.json()) as object
    }
    expect(await call({ dice: 2 })).toMatchObject({
      ok: true,
      structured: { rolls: [expect.any(Number), expect.any(Number)] },
    })
    expect(await call({ dice: 101 })).toMatchObject({
      code: 'invalid_arguments',
      detail: expect.stringContaining('dice: expected <=100, received 101'),
    })
  } finally {
    await server.close()
  }
})

describe.runIf(hasSamples('clock', 'calculator', 'weather', 'mail', 'web', 'alarm', 'bookings'))(
  'the documented examples, run against `npm start`,',
  () => {
    const edge = npmStart()
    const folder = mkdtempSync(join(root, 'test/edge/.docs-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    // A request that the edge refuses fails the command.
    writeFileSync(join(folder, '.curlrc'), 'fail-with-body\nmax-time = 20\n')

    const blocks = pages().flatMap((page) => page.blocks.filter(({ kind }) => kind === 'run'))
    const textOf = ({ text }: Block) => text.replaceAll('http://127.0.0.1:8787', edge.url)
    const blocksIn = (language: string) =>
      blocks
        .filter((block) => block.language === language)
        .map((block) => [`${block.page}:${block.line}`, block] as const)

    test.each(blocksIn('sh'))('succeed as commands at %s', async (_place, block) => {
      const script = `set -e\n${textOf(block)}`
      const { stdout } = await run('sh', ['-c', script], { env: { ...process.env, CURL_HOME: folder } })
      expect(stdout).not.toBe('')
    })

    test.concurrent.each(blocksIn('ts'))('run as the program at %s, which prints an answer', async (place, block) => {
      const file = join(folder, `${place.replaceAll(/\W/g, '-')}.ts`)
      // Node knows no `paths` of tsconfig.json.
      const code = textOf(block).replaceAll(/'edgecall\/(\w+)'/g, `'${root}src/$1.ts'`)
      writeFileSync(file, code)
      const { stdout } = await run('node', [file])
      expect(stdout.trim()).not.toBe('')
    })

    test('give the answers of README and of the pages on calling and on code mode', async () => {
      const outputOf = async (text: string) => {
        const block = blocks.find((each) => each.text.includes(text))
        const { stdout } = await run('sh', ['-c', block ? textOf(block) : 'false'])
        return stdout
      }
      expect(JSON.parse(await outputOf('475695037565')).choices[0].message.content).toContain('689706.48')
      expect(JSON.parse(await outputOf('"steps": 3'))).toMatchObject({
        status: 'completed',
        calls: [{ tool: 'squareRoot' }],
      })
      const { calls } = JSON.parse(await outputOf('"code": "only"')) as { calls: { id: string }[] }
      const parent = calls[0]?.id
      const time = { tool: 'currentTime', ok: true, parent }
      expect(calls).toMatchObject([{ tool: 'run_code', ok: true }, time, time, time])
    })
  },
)
