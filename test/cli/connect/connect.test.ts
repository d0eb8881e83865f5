import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Application, APPLICATIONS } from '../../../src/contract/applications.ts'
import { textOfFile } from '../../../src/studio/connect/file-text.ts'
import { connect } from '../../../src/cli/connect/connect.ts'
import { mergeInto } from '../../../src/cli/connect/merge.ts'
import { start } from '../command.ts'

const MAIN = new URL('../../../src/cli/main.ts', import.meta.url).pathname
const URL_OF_EDGE = 'https://edge.example.com'
const KEY = 'ek_a_secret_that_is_written_nowhere'
const ALL: [string, Application][] = Object.entries(APPLICATIONS)

/** What the command does, without a process of its own, in a folder of its own. */
function inProcess(name: string, tools: boolean) {
  const home = mkdtempSync(join(tmpdir(), 'connect-test-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const nobody = () => Promise.reject(new Error('Nobody is asked.'))
  let printed = ''
  const terminal = {
    isJson: true,
    print: () => {},
    emit: (value: unknown) => void (printed += JSON.stringify(value)),
    askSecret: nobody,
    confirm: nobody,
  }
  const options = {
    root: home,
    env: { HOME: home, EDGECALL_KEY: KEY },
    terminal,
    signal: new AbortController().signal,
    edge: () => ({ url: URL_OF_EDGE, key: KEY }),
    name,
    model: 'openai/gpt-4.1-mini',
    tools,
    write: true,
  }
  const read = (path: string) => readFileSync(join(home, path.replace('~/', '')), 'utf8')
  return { options, printed: () => printed, read }
}

/** A person with an empty home folder and an empty project. */
function person(files: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'connect-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [home, project] = [join(folder, 'home'), join(folder, 'project')]
  for (const each of [home, project]) mkdirSync(each)
  const placeOf = (path: string) => (path.startsWith('~/') ? join(home, path.slice(2)) : join(project, path))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(placeOf(path)), { recursive: true })
    writeFileSync(placeOf(path), text)
  }
  const command = async (...words: string[]) => {
    const env = { HOME: home, EDGECALL_KEY: KEY }
    const running = start(process.execPath, [MAIN, 'connect', ...words], { cwd: project, env })
    try {
      return { code: await running.ended, out: running.out(), errors: running.errors() }
    } finally {
      running.kill()
    }
  }
  const read = (path: string) => (existsSync(placeOf(path)) ? readFileSync(placeOf(path), 'utf8') : undefined)
  return { command, read }
}

const AT = ['--url', `${URL_OF_EDGE}/`, '--model', 'openai/gpt-4.1-mini']

test('without a name, all applications are listed with the API that each speaks', async () => {
  const { out } = await person().command('--json')
  const applications = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(applications.map(({ name }) => name)).toEqual(ALL.map(([name]) => name))
  expect(applications[1]).toEqual({ name: 'codex', title: 'Codex', speaks: 'Responses', model: true, tools: true })
})

test('what an application needs is printed, and nothing is written', async () => {
  const { command, read } = person()
  expect(await command('codex', ...AT)).toEqual({
    code: 0,
    errors: '',
    out: `~/.codex/config.toml
model = "openai/gpt-4.1-mini"
model_provider = "edgecall"

[model_providers.edgecall]
name = "Edgecall"
base_url = "https://edge.example.com/v1"
env_key = "EDGECALL_KEY"
wire_api = "responses"

The key: EDGECALL_KEY is set in this shell; set it where Codex runs.
Start it: codex
Nothing was written: --write puts it into the files.
`,
  })
  expect(read('~/.codex/config.toml')).toBeUndefined()
})

test('--write adds to a file of the person, shows the difference, and does nothing the second time', async () => {
  const own = '{\n  // mine\n  "env": { "FOO": "bar" },\n  "permissions": { "deny": ["WebFetch"] }\n}\n'
  const { command, read } = person({ '~/.claude/settings.json': own })
  const { out } = await command('claude-code', ...AT, '--write')
  const written = read('~/.claude/settings.json') ?? ''
  expect(out).toContain('+     "ANTHROPIC_BASE_URL": "https://edge.example.com",')
  for (const line of ['// mine', '"deny": ["WebFetch"]', '"FOO": "bar"', '"apiKeyHelper": "printenv EDGECALL_KEY"'])
    expect(written).toContain(line)
  expect((await command('claude-code', ...AT, '--write')).out).toContain('~/.claude/settings.json has it already\n')
  expect(read('~/.claude/settings.json')).toBe(written)
})

test.each(ALL)('%s has what the table says in its files, which name no key', async (name, { model, tools, title }) => {
  for (const [isOfTools, connection] of [
    [false, model],
    [true, tools],
  ] as const) {
    const { options, printed, read } = inProcess(name, isOfTools)
    if (!connection) {
      await expect(connect(options)).rejects.toThrow(title)
      continue
    }
    await connect(options)
    const target = { url: URL_OF_EDGE, model: 'openai/gpt-4.1-mini' }
    const { files = [], variables, code } = connection(target)
    expect(JSON.parse(printed())).toMatchObject({ application: name, files })
    expect(JSON.stringify([files, variables, code])).not.toContain(KEY)
    for (const { path, content } of files) expect(read(path)).toBe(mergeInto(path, '', content))
  }
})

test('a file that cannot be added to is left as it is, and what to add is said', async () => {
  const text = 'model_providers = { edgecall = { name = "mine" } }\n'
  const { command, read } = person({ '~/.codex/config.toml': text })
  const { code, errors } = await command('codex', ...AT, '--write')
  expect([code, read('~/.codex/config.toml')]).toEqual([1, text])
  expect(errors).toContain('~/.codex/config.toml was not written: it is laid out in a way that cannot be added to.')
  expect(errors).toContain('env_key = "EDGECALL_KEY"')
})

test('an unknown name is answered with the nearest, and an edge that does not answer with what to do', async () => {
  const { command } = person()
  expect((await command('claude', ...AT)).errors).toBe(
    'No application is called "claude" here.\nDid you mean claude-code?\n',
  )
  expect((await command('codex')).errors).toContain('Say where the edge is: --url')
  const server = createServer((request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${KEY}` && request.url === '/v1/models'
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'openai/first' }, { id: 'openai/second' }] }))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect((await command('codex', '--url', url)).out).toContain('model = "openai/first"\n')
})

test.each(['openai/gpt-4.1-mini', '@cf/meta/llama-4', 'odd: #1 "name"', '0x1'])(
  'the studio shows each file as the command writes it, with the model %s',
  (model) => {
    const target = { url: 'https://edge.example.com', model }
    const all: Application[] = Object.values(APPLICATIONS)
    const files = all.flatMap(({ model: asks, tools }) =>
      [asks?.(target), tools?.(target)].flatMap((each) => each?.files ?? []),
    )
    expect(files.length).toBeGreaterThan(15)
    for (const file of files) {
      const text = textOfFile(file)
      // Unchanged: the text holds exactly what it must.
      expect(mergeInto(file.path, text, file.content)).toBe(text)
      if (!file.path.endsWith('.yaml')) expect(text).toBe(mergeInto(file.path, '', file.content))
    }
  },
)
