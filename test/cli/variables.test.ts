import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Failure } from '../../src/cli/failure.ts'
import { variableNames } from '../../src/cli/document/configuration.ts'
import { localEdge, namesNoModel, readSetup } from '../../src/cli/variables.ts'

const HOSTS = { 'api.example.com': [] }
const OFFLINE = 'http://127.0.0.1:1234/v1'
const DEFAULTS = { AUTH: 'open', LOG: 'runs', HTTP_TOOL_HOSTS: '{"api.example.com":[]}' }
const OPTIONS = { vars: {}, hosts: HOSTS, setup: '' }
/** The repository's own edge, with a provider as CONTRIBUTING advises. */
const SETUP = `${readSetup('.')}
acme: (env) => openai({ baseUrl: textOf(env, 'ACME_URL'), apiKey: env['ACME_KEY'] }),`

test('an edge without configuration is open and uses the offline model', async () => {
  expect(namesNoModel({}, {})).toBe(true)
  expect(await localEdge({}, { ...OPTIONS, offlineUrl: OFFLINE })).toEqual({
    model: 'openai/offline',
    variables: { MODEL: 'openai/offline', OPENAI_BASE_URL: OFFLINE, ...DEFAULTS },
    key: undefined,
  })
})

test.each([
  [{ MODEL: 'openai/a' }, {}],
  [{ MODEL: '' }, {}],
  [{}, { MODEL: 'openai/a' }],
])('the offline model is not used if a model is configured: %j %j', (env, vars) => {
  expect(namesNoModel(env, vars)).toBe(false)
})

test('the offline model is not sent the key for OpenAI', async () => {
  const { variables } = await localEdge({ OPENAI_API_KEY: 'sk-1' }, { ...OPTIONS, offlineUrl: OFFLINE })
  expect(JSON.stringify(variables)).not.toContain('sk-1')
})

test('a server without a model is refused instead of replaced by the offline model', async () => {
  const env = { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }
  await expect(localEdge(env, { ...OPTIONS, offlineUrl: OFFLINE })).rejects.toThrow(
    new Failure('OPENAI_BASE_URL is set, but MODEL is not.', 'Name the model too, such as MODEL=openai/qwen3.'),
  )
})

test('dev passes on the variables that the edge’s source reads, except texts for bindings', async () => {
  const own = { ACME_URL: 'https://acme.example/v1', ACME_KEY: 'k' }
  const env = { ...own, TOOLS: 't', CATALOG: 'c', DEFINITIONS: 'd', CONVERSATIONS: 'x', AI: 'y', OTHER_KEY: 'o' }
  const { variables } = await localEdge(env, { ...OPTIONS, setup: SETUP })
  expect(variables).toEqual({ ...DEFAULTS, ...own })
})

test.each([
  ['MAX_STEP', 'MAX_STEPS'],
  ['OPENAI_APIKEY', 'OPENAI_API_KEY'],
  ['openai_api_key', 'OPENAI_API_KEY'],
  ['SYSTEM_PORMPT', 'SYSTEM_PROMPT'],
  ['ACME_KEYS', 'ACME_KEY'],
])('dev refuses the misspelt name %s and suggests %s', async (name, expected) => {
  await expect(localEdge({ [name]: 'x' }, { ...OPTIONS, setup: SETUP })).rejects.toThrow(
    `The edge has no variable ${name}. Do you mean ${expected}?`,
  )
})

test('dev passes on only the variables that the edge reads', async () => {
  const env = {
    MODELS: 'openai/*',
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    ANTHROPIC_API_KEY: 'a',
    MAX_STEPS: '3',
    RUN_TIMEOUT_MS: '1000',
    SYSTEM_PROMPT: '',
    SECRET_FORECAST: 's',
  }
  const { variables } = await localEdge(
    {
      ...env,
      PATH: '/bin',
      MY_MODEL: 'x',
      MAX_WEIGHT: '1',
      OPENAI_ORG_ID: 'o',
      OPENAI_API_KEY2: 'k',
      NOTIFY_URL: 'n',
      TOOLS: 't',
    },
    OPTIONS,
  )
  expect(variables).toEqual({ ...DEFAULTS, ...env })
})

test('dev passes on every variable of the edge', async () => {
  const names = variableNames().filter((name) => !name.endsWith('*'))
  expect(names).toEqual(expect.arrayContaining(['MODEL', 'TOOL_POLICY', 'MEMORY_SHOW', 'LOG']))
  const env = { ...Object.fromEntries(names.map((name) => [name, ''])), AUTH: 'open' }
  expect((await localEdge(env, OPTIONS)).variables).toEqual(env)
})

test('the environment takes precedence over wrangler.toml, and that over the defaults', async () => {
  const vars = { MODEL: 'openai/a', AUTH: 'open', LOG: 'faults', HTTP_TOOL_HOSTS: {}, MAX_STEPS: '5' }
  const local = await localEdge({ MODEL: 'openai/b' }, { ...OPTIONS, vars })
  expect(local).toEqual({ model: 'openai/b', variables: { MODEL: 'openai/b' }, key: undefined })
})

test('.dev.vars takes precedence over the environment, and all its variables are passed on', async () => {
  const devVars = { MODEL: 'openai/file', OWN_URL: 'https://own.example' }
  const { model, variables } = await localEdge({ MODEL: 'openai/b' }, { ...OPTIONS, devVars })
  expect(model).toBe('openai/b')
  expect(variables).toEqual({ ...DEFAULTS, ...devVars, MODEL: 'openai/b' })
})

test.each([[{ vars: { MAX_STEP: '5' } }], [{ devVars: { MAX_STEP: '5' } }]])(
  'dev refuses a misspelt name in a file: %j',
  async (files) => {
    await expect(localEdge({}, { ...OPTIONS, ...files })).rejects.toThrow(
      'The edge has no variable MAX_STEP. Do you mean MAX_STEPS?',
    )
  },
)

test('an edge that requires keys gets a new key in addition to its own', async () => {
  const theirs = { sha256: 'ab'.repeat(32), tenant: 'acme', scopes: ['chat'], expires: 4e12 }
  const env = { AUTH: 'keys', API_KEYS: JSON.stringify([theirs]) }
  const { key = '', variables } = await localEdge(env, OPTIONS)
  expect(key).toMatch(/^ek_[\w-]{32}$/)
  const sha256 = createHash('sha256').update(key).digest('hex')
  const scopes = [
    'chat',
    'tools:read',
    'tools:write',
    'tools:admin',
    'approve',
    'metrics',
    'backup',
    'keys',
    'schedules',
  ]
  expect(JSON.parse(variables['API_KEYS'] ?? '')).toEqual([
    { ...theirs, id: 'abababababab', sha256: [theirs.sha256] },
    { sha256, tenant: 'local', scopes },
  ])
  const repeat = await localEdge({ AUTH: 'keys' }, OPTIONS)
  expect(repeat.key).not.toBe(key)
})

test.each([
  [{ MAX_STEPS: 'many' }, 'MAX_STEPS must be a whole number from 1.'],
  [{ AUTH: 'none' }, 'AUTH must be "keys" or "open".'],
  [{ HTTP_TOOL_HOSTS: '[' }, 'HTTP_TOOL_HOSTS must be a JSON object { host: [secret names] }.'],
])('dev names a variable that the edge could not read: %j', async (env, message) => {
  await expect(localEdge(env, OPTIONS)).rejects.toThrow(new Failure(message, 'Change it, or unset it for its default.'))
})

test('dev refuses a model that names no provider before anything starts', async () => {
  await expect(localEdge({ MODEL: 'gpt-4' }, OPTIONS)).rejects.toThrow('MODEL must be provider/name, not "gpt-4".')
})
