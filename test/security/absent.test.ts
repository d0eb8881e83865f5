import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Hook, LoopSetup } from '../../src/contract/hook.ts'
import { inlineSource } from '../../src/host/source/inline.ts'
import { defineTool, ToolError } from '../../src/tool.ts'
import * as v from 'valibot'
import { ask, say } from '../fixtures/play.ts'
import { scripted } from '../fixtures/scripted.ts'
import { undefinedMembers } from '../fixtures/undefined-members.ts'
import { controlledEdge } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read approve'

/** What hooks, tools and models were given, by whom. */
const notes: [who: string, value: unknown][] = []
const note = (who: string, ...values: unknown[]) =>
  void notes.push(...values.map((value): [string, unknown] => [who, value]))

const hook: Hook = {
  name: 'notes',
  accept: (request) => (note('accept', request), request),
  offer: (request) => (note('offer', request), []),
  activate: (names, context) => (note('activate', names, context), names),
  run: (next, context) => (note('run', context), next()),
  step: async (request, next, context) => {
    note('step', request, context)
    const answer = await next(request)
    note('step answer', answer)
    return answer
  },
  call: async (request, next, context) => {
    note('call', request, context)
    const outcome = await next(request)
    note('call outcome', outcome)
    return outcome
  },
}
const loop: LoopSetup = {
  observe: (fact, request) => note(`observe ${fact.type}`, fact, request),
  onFault: (fault) => {
    note('onFault', fault)
    return undefined
  },
  needsApproval: (call, definition, run) => (note('needsApproval', call, definition, run), false),
}

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: v.object({ a: v.number() }),
  run: ({ a }, { env: _env, ...context }) => {
    note('tool', context)
    if (a < 0) throw new ToolError('It must not be negative.')
    return a + 1
  },
})
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: v.object({}),
  approval: 'always',
  run: () => 'Paid.',
})

beforeEach(() => {
  notes.length = 0
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => void vi.restoreAllMocks())

test.each(['/runs', '/conversations/c/runs'])(
  'nothing that hooks and tools get in %s has a member that is undefined',
  async (path) => {
    const model = scripted(
      [ask(['add', { a: 1 }], ['add', { a: -1 }], ['add'], ['nothing'], ['pay']), say('Done.')],
      'test/scripted',
    )
    const edge = controlledEdge({
      workers: {},
      keys: [KEY],
      model,
      sources: () => [inlineSource([add, pay], { env: {} })],
      change: (setup) => ({ ...setup, loop: { ...loop, hooks: [hook] } }),
    })
    await edge.as(KEY)('/conversations', { json: { id: 'c' } })
    const { body } = await edge.as(KEY)(path, { json: { input: 'Go' } })
    const waiting = body.calls.find(({ status }: any) => status === 'approval')
    if (waiting) {
      await edge.as(KEY)(`${path}/${body.id}/calls/${waiting.id}`, { json: { decision: 'approve' } })
      await edge.as(KEY)(`${path}/${body.id}/events`)
    }
    note('model', ...model.requests)
    const readers = new Set(notes.map(([who]) => who.replace(/ .*/, '')))
    const all = [
      'accept',
      'activate',
      'call',
      'model',
      'needsApproval',
      'observe',
      'offer',
      'onFault',
      'run',
      'step',
      'tool',
    ]
    expect([...readers].toSorted()).toEqual(all)
    expect([...new Set(notes.flatMap(([who, value]) => undefinedMembers(value, who)))]).toEqual([])
    const firstOf = (reader: string) => notes.find(([who]) => who === reader)?.[1]
    const conversation = waiting ? 'c' : 'mine'
    expect(Object.assign({ cacheKey: 'mine' }, firstOf('step'))).toMatchObject({ cacheKey: conversation })
    expect(Object.assign({ conversationId: 'mine' }, firstOf('tool'))).toMatchObject({ conversationId: conversation })
  },
)
