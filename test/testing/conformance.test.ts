import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { failure, type ToolOutcome, type ToolRequest, type ToolService } from '../../src/contract/tool.ts'
import { checkConformance, type TestedService, type ToolCase } from '../../src/testing/call-checks.ts'

const DEFINITION: ToolDefinition = {
  name: 'add',
  description: 'Adds a number.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
  version: '1',
  hash: 'h',
  annotations: {},
}

/** A Worker that keeps the contract, except for what is replaced. */
function worker({ definition = {}, ...service }: Partial<TestedService> & { definition?: object } = {}): TestedService {
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

describe('the conformance checks with calls that take effect', () => {
  const CASE = { arguments: { a: 1 } }

  /** Runs the checks against a Worker that keeps the contract, except for what is replaced. */
  async function checksOf(
    replaced: Parameters<typeof worker>[0] & Pick<TestedService, 'callAborted'>,
    toolCase: Partial<ToolCase> = {},
    crash?: () => Promise<unknown>,
  ): Promise<string[]> {
    const cases = { add: { ...CASE, ...toolCase } }
    const options = { cases, settleMs: 50, ...(crash && { crash }) }
    return (await checkConformance(worker(replaced), options)).map(({ check }) => check)
  }

  /** Answers of calls that the contract wants answered; the rest is refused as it should be. */
  function answering(answer: (request: ToolRequest) => unknown): ToolService['call'] {
    return async (request) => {
      const refusal = await worker().call({ ...request, context: request.context })
      return (refusal.ok ? await answer(request) : refusal) as ToolOutcome
    }
  }

  const success = (text: string) => ({ ok: true, content: [{ type: 'text', text }] })
  let count = 0

  test('find nothing in a Worker that keeps the contract', async () => {
    const callAborted = async () => failure('timeout', 'Too late.')
    expect(await checksOf({ callAborted }, {}, async () => {})).toEqual([])
  })

  test.each<[string, Parameters<typeof checksOf>, string[]]>([
    ['a case that fails', [{}, { arguments: { a: 'x' } }], ['outcome']],
    ['an outcome of another form', [{ call: answering(() => ({ ok: true })) }], ['outcome']],
    ['an outcome with a date', [{ call: answering(() => ({ ok: true, content: 5 })) }], ['outcome']],
    ['a result that is too long', [{ call: answering(() => success('x'.repeat(70_000))) }], ['size']],
    [
      'a result that does not fit its schema',
      [
        {
          definition: { outputSchema: { type: 'object' } },
          call: answering(() => ({ ...success(''), structured: 5 })),
        },
      ],
      ['output'],
    ],
    ['calls that cannot be stopped', [{ callAborted: () => new Promise(() => {}) }], ['timeout', 'cancel']],
    [
      'a call that has another outcome each time, though it is idempotent',
      [{ definition: { annotations: { idempotent: true } }, call: answering(() => success(String((count += 1)))) }],
      ['idempotency'],
    ],
    [
      'an idempotent call that takes effect twice',
      [
        {
          definition: { annotations: { idempotent: true } },
          call: answering(() => {
            count += 1
            return success('done')
          }),
        },
        { effects: () => count },
      ],
      ['idempotency'],
    ],
    ['a status that is promised and missing', [{ definition: { reconcile: true } }], ['status', 'status']],
    [
      'a status that says of a finished call that it never was',
      [{ definition: { reconcile: true }, status: async () => 'absent' }],
      ['status'],
    ],
    ['a status before the call', [{ definition: { reconcile: true }, status: async () => 'done' }], ['status']],
    ['an undo that is promised and missing', [{ definition: { undo: true } }], ['undo', 'undo']],
    ['an undo that fails', [{ definition: { undo: true }, undo: async () => failure('no', 'No.') }], ['undo']],
    [
      'a call that takes effect again after the loss of the Worker',
      [
        {
          definition: { reconcile: true },
          status: async () => 'unknown',
          call: answering(() => {
            count += 1
            return success('done')
          }),
        },
        { effects: () => count },
        async () => void (count += 1),
      ],
      ['crash'],
    ],
    [
      'a case of a tool that is not there',
      [{ definition: { name: 'sum' } }],
      ['describe', 'hash', 'bad-input', 'bad-input'],
    ],
  ])('find a fault in %s', async (_what, parameters, checks) => {
    expect(await checksOf(...parameters)).toEqual(checks)
  })
})
