import { expect, test } from 'vitest'
import { rateLimits, secretOf, toolWorkers } from '../../src/contract/vars.ts'

const worker = { describe: async () => ({ contract: 1 as const, tools: [] }) }

test('only service bindings named TOOL_* are tool Workers, not text or JSON variables with such names', () => {
  const foreign = { fetch: async () => new Response() }
  const env = { TOOL_A: worker, TOOL_PY: foreign, MAIL: worker, TOOL_ERRORS: 'fail', TOOL_POLICY: {}, TOOL_CONTEXT: {} }
  expect(toolWorkers(env)).toEqual({ TOOL_A: worker, TOOL_PY: foreign })
})

test('a rate limit that is named but not bound is an error', async () => {
  const rate = { limit: async ({ key }: { readonly key: string }) => ({ success: key === 'known' }) }
  const rates = rateLimits({ RATE: rate, OTHER: rate }, ['RATE'])
  expect(Object.keys(rates)).toEqual(['RATE'])
  const keys = ['known', 'other']
  expect(await Promise.all(keys.map(async (key) => rates['RATE']?.limit({ key })))).toEqual([
    { success: true },
    { success: false },
  ])
  for (const [name, value] of Object.entries({ RATE: undefined, TEXT: '10', JSON: { limit: 10 } })) {
    expect(() => rateLimits({ [name]: value }, [name])).toThrow(`${name} must be a rate limit binding`)
  }
})

test('definitions may name only secrets that begin with SECRET_', () => {
  const env = { SECRET_A: 'a', SECRET_B: {}, OPENAI_API_KEY: 'b' }
  expect(['SECRET_A', 'SECRET_B', 'SECRET_C', 'OPENAI_API_KEY'].map((name) => secretOf(env, name))).toEqual([
    'a',
    undefined,
    undefined,
    undefined,
  ])
})
