import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readdirSync, rmSync, statSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { family, stillRunning } from '../../src/cli/processes.ts'
import { type Command, freePort, start } from '../cli/command.ts'
import { chunksOf, startModelServer } from '../fixtures/model-server.ts'
import { hasSamples } from './stage.ts'
import { eventually } from '../fixtures/eventually.ts'

/** The example question asks the clock, a sample tool that may be deleted. */
const testWithClock = test.runIf(hasSamples('clock'))

interface Started extends Command {
  readonly url: string
  /** Where all that it writes for itself lies. */
  readonly folder: string
}

const temp = mkdtempSync(join(tmpdir(), 'start-test-'))
const commands: Command[] = []

afterAll(() => {
  for (const command of commands) command.kill()
  rmSync(temp, { recursive: true, force: true })
})

/** `npm start` on a free port, with its state and its private files in a folder of its own. */
async function npmStart(env: Record<string, string>, ...args: string[]): Promise<Started> {
  const port = String(await freePort())
  const folder = mkdtempSync(join(temp, 'run-'))
  const command = start('npm', ['start', '--ignore-scripts', '--', ...args], {
    env: { PORT: port, TMPDIR: folder, STATE_DIR: join(folder, 'state'), ...env },
  })
  commands.push(command)
  return { ...command, folder, url: `http://127.0.0.1:${port}` }
}

function privateFolders(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('edgecall-'))
}

describe('npm start', () => {
  let edge: Started
  let curl = ''
  let key = ''

  beforeAll(async () => {
    edge = await npmStart({ AUTH: 'keys', SECRET_TEST: 'never-in-the-process-list' })
    await edge.until('Tokyo?"}\'\n')
    curl = /^ {2}(curl .+)$/m.exec(edge.out())?.[1] ?? ''
    key = /\bek_\S+(?=\. )/.exec(edge.out())?.[0] ?? ''
  })

  testWithClock('asks the example question and prints the call, its result and the answer', () => {
    const [, run] = edge.out().split('> What time is it in Tokyo?\n')
    const time = String.raw`\{"timeZone":"Asia/Tokyo","dateTime":"\d{4}-.+"\}`
    const [call, result, answer] = (run ?? '').split('\n')
    expect(call).toMatch(/^ {2}call {4}currentTime \(edgecall-clock\) \{"timeZone":"Asia\/Tokyo"\}$/)
    expect(result).toMatch(new RegExp(String.raw`^  result  \w+, \d+ ms: ${time}$`))
    expect(answer).toMatch(/\d\d:\d\d.*Tokyo/)
  })

  testWithClock('prints a curl line that works', () => {
    const answer: unknown = JSON.parse(execFileSync('sh', ['-c', `${curl} --silent`], { encoding: 'utf8' }))
    expect(answer).toMatchObject({ status: 'completed', finish: 'stop', calls: [{ ok: true }] })
  })

  testWithClock('requires the key that it made and printed', async () => {
    const tools = await fetch(`${edge.url}/tools?source=kv`, { headers: { authorization: `Bearer ${key}` } })
    const names = ((await tools.json()) as { name: string }[]).map((tool) => tool.name)
    expect(names).toEqual(['exchangeRate', 'localTime', 'supportHours'])
    expect((await fetch(`${edge.url}/tools`)).status).toBe(401)
  })

  test('stores secrets in files that only the user can read', () => {
    const [file = ''] = globSync(join(edge.folder, 'edgecall-*/*.env'))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const list = execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })
    expect(list).toContain(file)
    expect(list).not.toContain('never-in-the-process-list')
  })

  testWithClock('prints where the page is, and each run as a tree', async () => {
    expect(edge.out()).toContain(`Serving ${edge.url} until Ctrl-C, to the key ${key}. Open that page, or ask:`)
    const tree =
      /run_\w+ {2}completed {2}openai\/offline .+\n├ step 1 {2}1 call .+\n│ {3}currentTime {2}\d+ ms .+\n└ step 2 {2}answer/
    await eventually(() => expect(edge.out()).toMatch(tree))
  })

  test('refuses a second start on the same data', async () => {
    const second = await npmStart({ STATE_DIR: join(edge.folder, 'state') })
    expect(await second.ended).toBe(1)
    expect(second.errors()).toMatch(/state is in use by the edge on http:\/\/127\.0\.0\.1:\d+ \(process \d+\)\.\n/)
  })

  test('leaves nothing of a deleted conversation in its database files', async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const send = (method: string, path: string, json?: object) =>
      fetch(`${edge.url}${path}`, { method, headers, ...(json && { body: JSON.stringify(json) }) })
    const [id, words] = ['conversation-to-be-forgotten', 'What time is it in Ulaanbaatar?']
    await send('POST', '/conversations', { id })
    expect((await send('POST', `/conversations/${id}/runs`, { input: words })).status).toBe(200)
    const filesWith = (text: string) =>
      globSync(join(edge.folder, 'state/**/*'), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        // The list of conversations has their titles; what SQLite frees there is overwritten later.
        .filter((file) => file.includes('edgecall-Conversation'))
        .filter((file) => readFileSync(file).includes(text))
    expect(filesWith(words).length).toBeGreaterThan(0)
    expect((await send('DELETE', `/conversations/${id}`)).status).toBe(204)
    expect((await send('GET', `/conversations/${id}/messages`)).status).toBe(410)
    expect(filesWith(words)).toEqual([])
    const listing = await (await send('GET', '/conversations')).text()
    expect([listing.includes(id), listing.includes('Ulaanbaatar')]).toEqual([false, false])
  })

  test('runs six processes while it is idle: npm, the command, its guard, wrangler and two of workerd', async () => {
    await eventually(() => expect(family(edge.pid)).toHaveLength(6))
  })

  test('ends every process that it started and removes its file on SIGTERM to npm', async () => {
    const processes = family(edge.pid)
    process.kill(edge.pid, 'SIGTERM')
    await edge.ended
    await eventually(() => expect(stillRunning(processes)).toEqual([]))
    expect(privateFolders(edge.folder)).toEqual([])
    expect(edge.errors()).not.toMatch(/error|failed/i)
  })
})

describe('npm start -- --ask', () => {
  testWithClock('passes its variables to the edge, prints the run, and exits with 0', async () => {
    const prompt = 'Don\'t say "so" in `code`: $HOME ${PATH} \\n \\$1 \\\\ # none\n\n# Rules\n{"a": [1]}\t明天 '
    const replies = [{ calls: [{ tool: 'shiftTime', arguments: '{"days":"two"}' }] }, { text: 'I could not tell.' }]
    const server = await startModelServer((_call, index) => ({ chunks: chunksOf(replies[index] ?? {}) }))
    try {
      const edge = await npmStart(
        {
          MODEL: 'openai/test-model',
          OPENAI_BASE_URL: server.baseUrl,
          OPENAI_API_KEY: 'sk-`"$#\'',
          SYSTEM_PROMPT: prompt,
        },
        '--ask',
        'What day is in two days?',
      )
      expect(await edge.ended, edge.errors()).toBe(0)
      expect(edge.out()).toMatch(
        / {2}call {4}shiftTime \(edgecall-clock\) \{"days":"two"\}\n {2}result {2}shiftTime, \d+ ms: failed \(/,
      )
      expect(edge.out()).toMatch(/\nI could not tell\.\n$/)
      expect(server.calls).toHaveLength(2)
      const [{ headers, body }] = server.calls as [(typeof server.calls)[0]]
      expect(headers.authorization).toBe('Bearer sk-`"$#\'')
      expect(body.model).toBe('test-model')
      expect(body.messages).toEqual([
        { role: 'system', content: prompt.trim() },
        { role: 'user', content: 'What day is in two days?' },
      ])
      expect(privateFolders(edge.folder)).toEqual([])
    } finally {
      await server.close()
    }
  })

  testWithClock('continues if a policy hides all tools of a Worker', async () => {
    const TOOL_POLICY = JSON.stringify({ '@TOOL_WEATHER': { scopes: ['weather'] } })
    const edge = await npmStart({ TOOL_POLICY }, '--ask', 'What is the square root of 9?')
    expect(await edge.ended, edge.errors()).toBe(0)
    expect(edge.out()).toMatch(/^Ready: \d+ tools; none from TOOL_WEATHER$/m)
    expect(edge.out()).toMatch(/\n.*\b3\b.*\n$/)
  })

  test('names a definition that the edge refuses, and starts without it', async () => {
    const edge = await npmStart({ HTTP_TOOL_HOSTS: '{}' }, '--ask', 'What is the square root of 9?')
    expect(await edge.ended, edge.errors()).toBe(0)
    expect(edge.out()).toMatch(/^tools\/definitions\/exchange-rate\.json was not stored: http\.url: .+frankfurter/m)
  })

  test('says why a run was refused', async () => {
    const edge = await npmStart({ MODEL: 'nobody/nothing' }, '--ask', 'Hello')
    expect(await edge.ended).toBe(1)
    expect(edge.errors()).toMatch(/^The run was refused: .*nobody/m)
  })
})

describe('npm start exits at once', () => {
  test('if the port is taken, before anything starts', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const edge = await npmStart({ PORT: String(port) })
    expect(await edge.ended).toBe(1)
    expect(edge.errors()).toContain(`Port ${port} is taken.\n`)
    expect(edge.out()).not.toContain('Starting')
    server.close()
  })
})
