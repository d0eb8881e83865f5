import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'
import { npmStart } from './npm-start.ts'

const run = promisify(execFile)
const root = new URL('../..', import.meta.url).pathname
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The first code block of a language that holds this text. */
function block(language: string, text: string): string {
  const blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, name]) => name === language)
  const found = blocks.map(([, , code]) => code ?? '').find((code) => code.includes(text))
  if (!found) throw new Error(`README has no ${language} block with ${text}`)
  return found
}

const copy = mkdtempSync(join(tmpdir(), 'readme-'))
afterAll(() => rmSync(copy, { recursive: true }))

test('the tool Worker from README, bound as it says, is found and called', async () => {
  for (const name of ['src', 'node_modules', 'package.json', 'tsconfig.json'])
    symlinkSync(join(root, name), join(copy, name))
  cpSync(join(root, 'tools'), join(copy, 'tools'), { recursive: true })
  mkdirSync(join(copy, 'tools/dice'))
  writeFileSync(join(copy, 'tools/dice/index.ts'), block('ts', 'rollDice'))
  writeFileSync(join(copy, 'tools/dice/wrangler.toml'), block('toml', 'name = "edgecall-dice"'))
  const edge = readFileSync(join(root, 'wrangler.toml'), 'utf8')
  writeFileSync(join(copy, 'wrangler.toml'), `${edge}\n${block('toml', 'binding = "TOOL_DICE"')}`)
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
      ok: false,
      error: { message: 'At most 100 dice at a time; ask for fewer.' },
    })
  } finally {
    await server.close()
  }
})

describe('against `npm start`,', () => {
  const edge = npmStart()

  test('the curl command from README is answered', async () => {
    const command = block('sh', 'curl http').replaceAll('http://127.0.0.1:8787', edge.url)
    const { stdout } = await run('sh', ['-c', command])
    expect(JSON.parse(stdout).choices[0].message.content).toContain('689706.48')
  })

  test('the OpenAI snippet from README streams an answer', async () => {
    const snippet = join(root, `test/edge/.readme-${process.pid}.ts`)
    writeFileSync(snippet, block('ts', "from 'openai'").replaceAll('http://127.0.0.1:8787', edge.url))
    try {
      const { stdout } = await run('node', [snippet])
      expect(stdout).toContain('Copenhagen')
    } finally {
      rmSync(snippet)
    }
  })
})
