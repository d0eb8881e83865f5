import { describe, expect, test } from 'vitest'
import { failure, type ToolDefinition, type ToolService } from '../../src/contract/tool.ts'
import { checkConformance } from '../../src/testing/conformance.ts'

const DEFINITION: ToolDefinition = {
  name: 'add',
  description: 'Adds a number.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
  version: '1',
  hash: 'h',
  annotations: {},
}

/** A Worker that keeps the contract, except for what is replaced. */
function worker({ definition = {}, ...service }: Partial<ToolService> & { definition?: object } = {}): ToolService {
  return {
    describe: async () => ({ contract: 1, tools: [{ ...DEFINITION, ...definition }] }),
    call: async ({ name, hash, arguments: { a } }) => {
      if (name !== 'add') return failure('unknown_tool', 'There is no such tool.')
      if (hash !== 'h') return failure('schema_mismatch', 'The tool has changed.')
      if (typeof a !== 'number') return failure('invalid_arguments', 'a must be a number.')
      return { ok: true, content: [] }
    },
    ...service,
  }
}

describe('the conformance checks', () => {
  test('find nothing in a Worker that keeps the contract', async () => {
    expect(await checkConformance(worker())).toEqual([])
  })

  test.each<[string, Parameters<typeof worker>[0], string[]]>([
    ['a describe() that throws', { describe: () => Promise.reject(new Error('no')) }, ['describe']],
    ['a name that no model may call', { definition: { name: 'a b' } }, ['describe', 'hash', 'bad-input', 'bad-input']],
    ['an empty description', { definition: { description: ' ' } }, ['describe']],
    ['a schema that is none', { definition: { inputSchema: { type: 'object', properties: 1 } } }, ['schema']],
    [
      'a call that throws instead of returning a failure',
      { call: () => Promise.reject(new Error('boom')) },
      ['hash', 'bad-input', 'bad-input', 'unknown-tool'],
    ],
    [
      'calls that succeed whatever they are given',
      { call: async () => ({ ok: true, content: [] }) },
      ['hash', 'bad-input', 'bad-input', 'unknown-tool'],
    ],
    [
      'a failure without a message for the model',
      { call: async ({ hash }) => failure(hash === 'h' ? 'invalid_arguments' : 'schema_mismatch', ' ') },
      ['hash', 'bad-input', 'bad-input', 'unknown-tool'],
    ],
  ])('find a fault in %s', async (_what, replaced, checks) => {
    expect((await checkConformance(worker(replaced))).map(({ check }) => check)).toEqual(checks)
  })
})
