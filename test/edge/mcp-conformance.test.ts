import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'
import { McpServer } from '../tools/mcp-server.ts'
import { sampleWorkers } from './stage.ts'
import { withMcp } from './with-mcp.ts'

/** MCP's own suite, as its command line: `npx @modelcontextprotocol/conformance server …`. */
const SUITE = new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url).pathname
const TOOLS = ['clock', 'alarm', 'calculator', 'weather', 'bookings', 'mail', 'web', 'definitions']

/** Why a scenario fails: it is about something that an edge does not have. */
const NO_LOGGING = 'the capability `logging` is not offered: what tools log is for operators'
const NO_SAMPLING = 'clients of older revisions are asked for what a person knows, and for nothing else'
const NO_RESOURCES = 'resources are those of MCP servers behind the edge, and their addresses name the server'
const NO_PROMPTS = 'prompts are those of MCP servers behind the edge, and their names begin with that of the server'
const NO_COMPLETIONS = 'the capability `completions` is not offered: there is nothing of it to complete'
const NO_PARTS = 'a task asks for all of its input at once, and gets all answers in one `tasks/update`'
const TASK_ASKS = 'a tool that answers later asks for input in its task, and not before it'
const TASK_OPTIONAL = 'no tool requires tasks: for a client without them a call fails with `later` if it must wait'

const WITHOUT_BOTH = {
  'completion-complete': NO_COMPLETIONS,
  'resources-read-text': NO_RESOURCES,
  'resources-read-binary': NO_RESOURCES,
  'resources-templates-read': NO_RESOURCES,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
}

/** The scenarios that fail, by revision. All others must pass, and none of these may. */
const NOT_APPLICABLE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2025-11-25': {
    ...WITHOUT_BOTH,
    'logging-set-level': NO_LOGGING,
    'tools-call-with-logging': NO_LOGGING,
    'tools-call-sampling': NO_SAMPLING,
    'resources-subscribe': NO_RESOURCES,
    'resources-unsubscribe': NO_RESOURCES,
  },
  '2026-07-28': {
    ...WITHOUT_BOTH,
    'input-required-result-non-tool-request': NO_PROMPTS,
    'tasks-mrtr-input': NO_PARTS,
    'tasks-required-task-error': TASK_OPTIONAL,
    'tasks-mrtr-composition': TASK_ASKS,
  },
}

let harness: ReturnType<typeof createTestHarness>
let url: URL
let library: McpServer
const temp = mkdtempSync(join(tmpdir(), 'edgecall-conformance-'))

beforeAll(async () => {
  library = await new McpServer().listen()
  library.others = {
    'resources/list': () => ({ resources: [{ uri: 'test://static-text', name: 'text', mimeType: 'text/plain' }] }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, mimeType: 'text/plain', text: 'Text' }] }),
    'prompts/list': () => ({ prompts: [{ name: 'test_simple_prompt', description: 'A prompt' }] }),
  }
  const servers = [{ name: 'library', url: library.url, resources: ['*'], prompts: ['*'] }]
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: withMcp(temp),
        vars: { AUTH: 'open' },
        bindingOverrides: { TOOL_CUSTOMERS: 'conformance-tools' },
      },
      ...sampleWorkers(...TOOLS),
      { configPath: 'tools/mcp/wrangler.toml', vars: { MCP_SERVERS: JSON.stringify(servers) } },
      { configPath: 'test/fixtures/conformance-tools/wrangler.toml' },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  library?.close()
  rmSync(temp, { recursive: true })
})

/** Returns what the suite writes, whether a scenario fails or not. */
function suite(...args: string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], { maxBuffer: 2 ** 26 }, (_error, out, errors) => resolve(out + errors))
  })
}

describe.each(Object.keys(NOT_APPLICABLE))('the server scenarios of the MCP suite for %s', (revision) => {
  test('pass, except those for features that an edge does not offer', async () => {
    const out = await suite('server', '--url', new URL('/mcp', url).href, '--requirements', revision)
    const results = [...out.matchAll(/^([✓✗]) (\S+): \d+ passed, \d+ failed/gm)]
    const failed = results.flatMap(([, mark, name = '']) => (mark === '✗' ? [name] : []))
    expect(failed.sort()).toEqual(Object.keys(NOT_APPLICABLE[revision] ?? {}).sort())
    expect(results.length - failed.length).toBeGreaterThanOrEqual(15)
  })
})
