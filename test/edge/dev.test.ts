import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Command, freePort, start } from '../cli/command.ts'
import { SAVES } from '../cli/dev/saves.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'dev-test-'))
const EDGE = `name = "small"
main = "src/index.ts"
compatibility_date = "2026-10-23"
compatibility_flags = ["enable_request_signal", "global_fetch_strictly_public"]
durable_objects.bindings = [
  { name = "CONVERSATIONS", class_name = "Conversation" },
  { name = "DIRECTORIES", class_name = "Directory" },
]
services = [{ binding = "TOOL_DICE", service = "dice" }, { binding = "TOOL_COIN", service = "coin" }]

[[migrations]]
tag = "v1"
new_sqlite_classes = ["Conversation", "Directory"]
`
const FILES = {
  'wrangler.toml': EDGE,
  'src/index.ts': `import { createEdge, openaiFromEnv } from '${ROOT}src/edge.ts'
const edge = createEdge({ providers: { openai: openaiFromEnv } })
export const { Conversation, Directory } = edge
export default edge
`,
  'tools/coin/wrangler.toml': 'name = "coin"\nmain = "index.ts"\ncompatibility_date = "2026-10-23"\n',
  'tools/coin/index.ts': toolNamed('coin', 'Tosses.'),
  'tools/dice/wrangler.toml': 'name = "dice"\nmain = "index.ts"\ncompatibility_date = "2026-10-23"\n',
  'tools/dice/index.ts': `${toolNamed('dice', 'Rolls.')}\nthrow new Error('No schema.')\n`,
}

function toolNamed(name: string, description: string): string {
  return `import { defineTool, serveTools } from '${ROOT}src/tool.ts'
import * as v from 'valibot'
export default serveTools(defineTool({ name: '${name}', description: '${description}', input: v.object({}), run: () => 6 }))
`
}

/** The states of `edgecall dev`, one after another: each is left by the correction of a file. */
describe('edgecall dev', () => {
  let command: Command
  let url = ''
  let end = 0
  /** Waits for a text after the last one, and returns what was printed until then. */
  const until = async (text: string): Promise<string> => {
    const before = command.out().slice(0, end)
    await command.until(text, end)
    end = command.out().indexOf(text, end) + text.length
    return command.out().slice(before.length, end)
  }
  const dice = join(folder, 'tools/dice/index.ts')
  const save = (way: keyof typeof SAVES, path: string, text: string) => SAVES[way]?.(path, text)
  const descriptions = async () => {
    const tools = (await (await fetch(`${url}/tools`)).json()) as { description: string }[]
    return tools.map(({ description }) => description).sort()
  }

  beforeAll(async () => {
    for (const [file, text] of Object.entries(FILES)) {
      mkdirSync(join(folder, file, '..'), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const port = String(await freePort())
    url = `http://127.0.0.1:${port}`
    command = start(process.execPath, [join(ROOT, 'src/cli/main.ts'), 'dev'], { cwd: folder, env: { PORT: port } })
  })
  afterAll(async () => {
    command?.kill()
    await command?.ended
    rmSync(folder, { recursive: true })
  })

  test('waits after a first start that fails, and says in one line what is broken', async () => {
    expect(await until('Waiting for a change of the files…\n')).toBe(
      'Starting small and 2 tool Workers, model openai/offline\n' +
        'tools/dice/index.ts throws as it loads: No schema. None of it runs until that is corrected.\n' +
        'Waiting for a change of the files…\n',
    )
    save('by another file that takes its name', dice, toolNamed('dice', 'Rolls once.'))
    await until('Serving http')
    expect(await descriptions()).toEqual(['Rolls once.', 'Tosses.'])
  })

  test('serves the version before a syntax error, and follows its correction', async () => {
    await until('{"input":')
    save('by another file that takes its name', dice, `${toolNamed('dice', 'Rolls.')}const x = ;\n`)
    expect(await until('runs on.\n')).toContain(
      '\ntools/dice/index.ts:4:10: Unexpected ";". The version before it runs on.\n',
    )
    expect(await descriptions()).toEqual(['Rolls once.', 'Tosses.'])
    save('as sed does', dice, toolNamed('dice', 'Rolls twice.'))
    await until('updated and ready')
    expect(await descriptions()).toEqual(['Rolls twice.', 'Tosses.'])
  })

  test('says which tools a change has made unavailable, and how many there are again after its correction', async () => {
    save('by another file that takes its name', dice, toolNamed('coin', 'Rolls.'))
    const reason = 'The tool "coin" is defined differently by TOOL_DICE and TOOL_COIN; none of them is called.'
    expect(await until('Ready: 0 tools\n')).toContain(
      `\nNot available: coin (tools/dice/index.ts): ${reason}\nNot available: coin (tools/coin/index.ts): ${reason}\n`,
    )
    save('by another file that takes its name', dice, toolNamed('dice', 'x'.repeat(1025)))
    expect(await until('Ready: 2 tools\n')).toContain(
      '\ntools/dice/index.ts: The description of dice has 1,025 characters, which every request sends to the model.',
    )
  })

  test('waits after a Worker that served throws as it is loaded again', async () => {
    save('by deleting it and making it again', dice, `${toolNamed('dice', 'Rolls.')}\nthrow new Error('No input.')\n`)
    const output = await until('Waiting for a change of the files…\n')
    expect(output.slice(output.indexOf('tools/'))).toBe(
      'tools/dice/index.ts throws as it loads: No input. None of it runs until that is corrected.\n' +
        'Waiting for a change of the files…\n',
    )
    expect(output).not.toContain('[ERROR]')
    save('by another file that takes its name', dice, toolNamed('dice', 'Rolls thrice.'))
    await until('Serving http')
    expect(await descriptions()).toEqual(['Rolls thrice.', 'Tosses.'])
  })

  test('starts again after a configuration that could not be read is corrected', async () => {
    const config = join(folder, 'wrangler.toml')
    save('by another file that takes its name', config, `${EDGE}\nnot toml`)
    const output = await until('Waiting for a change of the files…\n')
    expect(output).toMatch(
      /^[^]*\nRestarting, since the files have changed\nwrangler.toml cannot be read: Invalid TOML/,
    )
    expect(output).not.toContain('[ERROR]')
    save('by another file that takes its name', config, EDGE)
    await until('Serving http')
    expect(await descriptions()).toEqual(['Rolls thrice.', 'Tosses.'])
  })
})
