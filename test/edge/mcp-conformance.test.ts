import { execFile } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

/** MCP's own suite, as its command line: `npx @modelcontextprotocol/conformance server …`. */
const SUITE = new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url).pathname
const TOOLS = ['clock', 'alarm', 'calculator', 'weather', 'bookings', 'mail', 'web', 'definitions']

const APPLICABLE = [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'json-schema-2020-12',
]

const NO_LOGGING = 'the capability `logging` is not offered: what tools log is for operators'
const NO_REQUESTS = 'the edge asks nothing of its clients: it keeps no session to ask in'
const NO_RESOURCES = 'the capability `resources` is not offered: an edge has tools'
const NO_PROMPTS = 'the capability `prompts` is not offered: an edge has tools'

/** What an edge does not offer, and so does not do. */
const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  'logging-set-level': NO_LOGGING,
  'tools-call-with-logging': NO_LOGGING,
  'completion-complete': 'the capability `completions` is not offered: there is nothing of it to complete',
  'tools-call-sampling': NO_REQUESTS,
  'tools-call-elicitation': NO_REQUESTS,
  'elicitation-sep1034-defaults': NO_REQUESTS,
  'elicitation-sep1330-enums': NO_REQUESTS,
  'server-sse-multiple-streams': 'it is about the streams of a session, and an edge has no sessions',
  'server-sse-polling': 'a call ends with its request: nothing is kept to be read on later',
  'resources-list': NO_RESOURCES,
  'resources-read-text': NO_RESOURCES,
  'resources-read-binary': NO_RESOURCES,
  'resources-templates-read': NO_RESOURCES,
  'resources-subscribe': NO_RESOURCES,
  'resources-unsubscribe': NO_RESOURCES,
  'prompts-list': NO_PROMPTS,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
  'dns-rebinding-protection':
    'an edge without keys refuses other hosts with 503, since it is set up wrongly, not with 4xx',
}

/** Stored, since that is kept to the letter: what `defineTool` says of a tool leaves `$schema` out, as no model needs it. */
const DEFINITION = {
  name: 'json_schema_2020_12_tool',
  description: 'Tool with JSON Schema 2020-12 features',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  },
  static: { text: 'done' },
}

let harness: ReturnType<typeof createTestHarness>
let url: URL

beforeAll(async () => {
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'wrangler.toml',
        vars: { AUTH: 'open' },
        bindingOverrides: { TOOL_CUSTOMERS: 'conformance-tools' },
      },
      ...TOOLS.map((name) => ({ configPath: `tools/${name}/wrangler.toml` })),
      { configPath: 'test/fixtures/conformance-tools/wrangler.toml' },
    ],
  })
  url = (await harness.listen()).url
  const stored = await fetch(new URL(`/tools/${DEFINITION.name}`, url), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(DEFINITION),
  })
  expect(stored.status).toBe(201)
})
afterAll(() => harness?.close())

/** What a command of the suite writes, whether it fails or not. */
function suite(...args: string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], (_error, out, errors) => resolve(out + errors))
  })
}

test('every server scenario of the MCP suite passes or is about a feature that an edge does not offer', async () => {
  const out = await suite('list', '--server')
  const scenarios = [...out.matchAll(/^ +- (\S+)/gm)].map(([, name = '']) => name)
  expect(scenarios.sort()).toEqual([...APPLICABLE, ...Object.keys(NOT_APPLICABLE)].sort())
})

test.each(APPLICABLE)('%s', async (scenario) => {
  const out = await suite('server', '--url', new URL('/mcp', url).href, '--scenario', scenario)
  expect(out).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/)
})
