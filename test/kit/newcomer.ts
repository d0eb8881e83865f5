/**
 * A newcomer who has only the documentation: the commands and the code of docs/first-edge.md, docs/tools.md and
 * docs/deploy.md, run as they stand there, from an empty folder to an own tool that is deployed to a stand-in of an account.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../cli/command.ts'
import { pageOf, pages } from '../docs/pages.ts'
import { startAccount } from '../fixtures/account/account.ts'
import { startEdge } from '../fixtures/account/edge.ts'

const run = promisify(execFile)

type Step = (name: string, work: () => Promise<void>) => Promise<void>

/** The loops of the page with a tool of `defineTool`, and a model that calls it once in each of them. */
const LOOPS_TEST = `import assert from 'node:assert/strict'
import test from 'node:test'
import { type ChatModel, inlineSource, memory, type ModelEvent } from 'edgecall/loop'
import { defineTool } from 'edgecall/tool'
import * as v from 'valibot'
import { chat } from './memory.ts'
import { answer } from './simple.ts'
import { stream } from './stream.ts'

const input = v.object({ a: v.number(), b: v.number() })
const add = defineTool({ name: 'add', description: 'Adds.', input, run: ({ a, b }) => a + b })
const { tools } = await inlineSource([add], { env: {} }).list()
const usage = { inputTokens: 1, outputTokens: 1 }

const model: ChatModel = {
  name: 'test/adder',
  async *stream({ messages }): AsyncGenerator<ModelEvent> {
    const last = messages.at(-1)
    if (last?.role === 'tool') {
      yield { type: 'text', text: 'It is ' + last.content.map((part) => (part.type === 'text' ? part.text : '')).join('') }
      yield { type: 'finish', finish: 'stop', usage }
      return
    }
    yield { type: 'call', index: 0, tool: 'add', arguments: '{"a":1,"b":2}' }
    yield { type: 'finish', finish: 'tool_calls', usage }
  },
}

test('simple', async () => {
  assert.equal(await answer(model, tools, '1 + 2?', new AbortController().signal), 'It is 3')
})

test('memory', async () => {
  const own = memory({ messages: 20 })
  assert.deepEqual([await chat(model, tools, own, '1 + 2?'), await chat(model, tools, own, '?')], ['It is 3', 'It is 3'])
})

test('stream', async () => {
  const texts: string[] = []
  const messages = [{ role: 'user', content: '1 + 2?' }] as const
  await stream(model, { messages, tools }, (text) => texts.push(text))
  assert.deepEqual(texts, ['It is 3'])
})
`

/** The blocks of a page, by their language. */
function blocksOf(page: string, language: string): string[] {
  const { blocks = [] } = pages().find(({ path }) => path === page) ?? {}
  return blocks.filter((block) => block.language === language).map(({ text }) => text)
}

/** The commands of the block of a page that has this one. */
function commandsWith(page: string, command: string): string[] {
  const block = blocksOf(page, 'sh').find((text) => text.split('\n').includes(command))
  assert.ok(block, `${page} has no block with the command ${command}`)
  return block.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

/** Follows the documentation in a folder, with the package in that tarball instead of the published one. */
export async function followDocs(folder: string, tarball: string, step: Step): Promise<void> {
  const home = join(folder, 'newcomer')
  mkdirSync(home)
  const project = join(home, 'my-edge')
  const env = { ...process.env, CI: '1', npm_config_loglevel: 'error', WRANGLER_SEND_METRICS: 'false' }
  const inProject = (command: string, more: NodeJS.ProcessEnv = {}) =>
    run('sh', ['-c', command], { cwd: project, env: { ...env, ...more } })

  await step('docs/first-edge.md: a project from nothing, its tests, and its start', async () => {
    const [init = '', cd, ...rest] = commandsWith('docs/first-edge.md', 'npx edgecall init my-edge')
    assert.deepEqual([cd, ...rest], ['cd my-edge', 'npm install', 'npm test', 'npm start'])
    const published = init.replace('npx edgecall', `npx --yes --package=file:${tarball} edgecall`)
    await run('sh', ['-c', `${published} --package file:${tarball}`], { cwd: home, env })
    await inProject('npm install')
    await inProject('npm test')
    await startsIn(project, env)
  })
  await step('docs/first-edge.md: each command that adds something', async () => {
    for (const command of commandsWith('docs/first-edge.md', 'npx edgecall new tool roll-dice'))
      await inProject(command)
  })
  await step('docs/tools.md: a tool of one’s own, with the code of the page', async () => {
    const [command = ''] = commandsWith('docs/tools.md', 'npx edgecall new tool orders')
    await inProject(command)
    for (const name of ['index.ts', 'orders.test.ts']) {
      const path = `tools/orders/${name}`
      const code = blocksOf('docs/tools.md', 'ts').find((text) => text.startsWith(`// ${path}\n`))
      assert.ok(code, `docs/tools.md has ${path}`)
      writeFileSync(join(project, path), code)
    }
    await inProject('npm test')
  })
  await step('docs/own-loop.md: its three loops, each until the model answers', async () => {
    mkdirSync(join(project, 'loops'))
    for (const code of blocksOf('docs/own-loop.md', 'ts')) {
      const [, path = ''] = /^\/\/ (loops\/\S+)\n/.exec(code) ?? []
      writeFileSync(join(project, path), code)
    }
    writeFileSync(join(project, 'loops/loops.test.ts'), LOOPS_TEST)
    await inProject('npx tsc --noEmit --allowImportingTsExtensions')
    const { stdout } = await inProject('npx node --test loops/loops.test.ts')
    assert.match(stdout, /pass 3\n/)
  })
  await step('AGENTS.md of the project: a tool with a database, its test, and a policy', async () => {
    const { blocks } = pageOf('AGENTS.md', readFileSync(join(project, 'AGENTS.md'), 'utf8'))
    for (const path of ['tools/orders/index.ts', 'tools/orders/orders.test.ts']) {
      const block = blocks.find(({ text }) => text.startsWith(`// ${path}\n`))
      assert.ok(block, `AGENTS.md has ${path}`)
      writeFileSync(join(project, path), block.text)
    }
    const configs = { 'tools/orders/wrangler.toml': '[[d1_databases]]', 'wrangler.toml': '[[ratelimits]]' }
    for (const [path, stanza] of Object.entries(configs)) {
      const block = blocks.find(({ language, text }) => language === 'toml' && text.includes(stanza))
      assert.ok(block, `AGENTS.md has ${stanza}`)
      // A second table `vars` would be an error.
      const text = readFileSync(join(project, path), 'utf8').replace(/^\[vars\]\n/m, '')
      writeFileSync(join(project, path), `${text}\n${block.text}`)
    }
    await inProject('npm test')
    await inProject('npx node --test tools/orders/orders.test.ts')
    await inProject('npx edgecall doctor')
  })
  await step('docs/deploy.md: what it says it will deploy, then the deployment', async () => {
    const account = await startAccount()
    const edge = await startEdge(account.state, 'my-edge')
    const [login, ...commands] = commandsWith('docs/deploy.md', 'npx wrangler login')
    assert.equal(login, 'npx wrangler login')
    assert.deepEqual(commands, ['npm run deploy -- --dry-run', 'npm run deploy'])
    try {
      mkdirSync(join(project, '.home'))
      const own = { HOME: join(project, '.home'), EDGECALL_URL: edge.url, EDGECALL_KEY: edge.key }
      for (const command of commands) await inProject(command, { ...account.env, ...own })
      const deployed = Object.keys(account.state.live()).toSorted()
      const tools = ['greeting', 'orders', 'proofreader', 'roll-dice'].map((name) => `my-edge-${name}`)
      assert.deepEqual(deployed, ['my-edge', 'my-edge-definitions', ...tools].toSorted())
    } finally {
      account.close()
      edge.close()
    }
  })
}

/** Starts the project, waits until it serves, and stops it. */
async function startsIn(cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const server = spawn('npm', ['start'], {
    cwd,
    env: { ...env, PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  let text = ''
  for await (const chunk of server.stdout) {
    text += String(chunk)
    if (text.includes('Serving http')) break
  }
  assert.match(text, /Serving http/)
  if (server.pid !== undefined) process.kill(-server.pid, 'SIGTERM')
  if (server.exitCode === null) await once(server, 'exit')
}
