import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Failure } from '../../src/cli/failure.ts'
import { variableNames } from '../../src/cli/document/configuration.ts'
import { localEdge } from '../../src/cli/variables.ts'

const HOSTS = { 'api.example.com': [] }
const DEFAULTS = { MODEL: 'offline/rules', AUTH: 'open', HTTP_TOOL_HOSTS: '{"api.example.com":[]}' }

test('an edge without configuration is open, and answers by rules', async () => {
  expect(await localEdge({}, { vars: {}, hosts: HOSTS })).toEqual({
    model: 'offline/rules',
    variables: DEFAULTS,
    key: undefined,
  })
})

test('passes on what the edge reads, and nothing else', async () => {
  const env = {
    MODELS: 'openai/*',
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    ANTHROPIC_API_KEY: 'a',
    GEMINI_API_KEY: 'g',
    MAX_STEPS: '3',
    RUN_TIMEOUT_MS: '1000',
    SYSTEM_PROMPT: '',
    SECRET_FORECAST: 's',
  }
  const { variables } = await localEdge(
    { ...env, PATH: '/bin', MY_MODEL: 'x', MAX_WEIGHT: '1', OPENAI_ORG_ID: 'o', NOTIFY_URL: 'n', TOOLS: 't' },
    { vars: {}, hosts: HOSTS },
  )
  expect(variables).toEqual({ ...DEFAULTS, ...env })
})

test('passes on every variable of the edge', async () => {
  const names = variableNames().filter((name) => !name.endsWith('*'))
  expect(names).toEqual(expect.arrayContaining(['MODEL', 'TOOL_POLICY', 'MEMORY_SHOW', 'LOG']))
  const env = { ...Object.fromEntries(names.map((name) => [name, ''])), AUTH: 'open' }
  expect((await localEdge(env, { vars: {}, hosts: HOSTS })).variables).toEqual(env)
})

test('the environment comes before wrangler.toml, and that before the defaults', async () => {
  const vars = { MODEL: 'openai/a', AUTH: 'open', HTTP_TOOL_HOSTS: {}, MAX_STEPS: '5' }
  const local = await localEdge({ MODEL: 'openai/b' }, { vars, hosts: HOSTS })
  expect(local).toEqual({ model: 'openai/b', variables: { MODEL: 'openai/b' }, key: undefined })
})

test('an edge that wants keys gets a new one beside those that it has', async () => {
  const theirs = { sha256: 'ab'.repeat(32), tenant: 'acme', scopes: ['chat'], expires: 4e12 }
  const env = { AUTH: 'keys', API_KEYS: JSON.stringify([theirs]) }
  const { key = '', variables } = await localEdge(env, { vars: {}, hosts: HOSTS })
  expect(key).toMatch(/^ek_[\w-]{32}$/)
  const sha256 = createHash('sha256').update(key).digest('hex')
  const scopes = ['chat', 'tools:read', 'tools:write', 'tools:admin', 'approve']
  expect(JSON.parse(variables['API_KEYS'] ?? '')).toEqual([theirs, { sha256, tenant: 'local', scopes }])
  const again = await localEdge({ AUTH: 'keys' }, { vars: {}, hosts: HOSTS })
  expect(again.key).not.toBe(key)
})

test.each([
  [{ MAX_STEPS: 'many' }, 'MAX_STEPS must be a whole number from 1.'],
  [{ AUTH: 'none' }, 'AUTH must be "keys" or "open".'],
  [{ HTTP_TOOL_HOSTS: '[' }, 'HTTP_TOOL_HOSTS must be a JSON object { host: [secret names] }.'],
])('names a variable that the edge could not read: %j', async (env, message) => {
  await expect(localEdge(env, { vars: {}, hosts: HOSTS })).rejects.toThrow(
    new Failure(message, 'Change it, or unset it for its default.'),
  )
})

test('a model that names no provider is refused before anything starts', async () => {
  await expect(localEdge({ MODEL: 'gpt-4' }, { vars: {}, hosts: HOSTS })).rejects.toThrow(
    'MODEL must be provider/name, not "gpt-4".',
  )
})
