import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import type { Hook, LoopSetup } from '../../src/contract/hook.ts'
import { fold } from '../../src/loop/fold.ts'
import { ask, bodies, id, play, type Play, say, tool, types } from '../fixtures/play.ts'

function broken(): never {
  throw new Error('secret detail')
}

const failed = {
  status: 'failed',
  finish: 'error',
  error: { code: 'hook_failed', message: 'A hook of the edge failed.' },
}

describe('a part of the setup that throws', () => {
  const script = [ask(['add'], ['fails']), say('{}')]
  const parts: [string, LoopSetup, Partial<Play>?][] = [
    ['needsApproval', { needsApproval: broken }],
    ['needsApproval, asked early', { needsApproval: broken }, { request: { eager: true } }],
    ['runsCalls', { runsCalls: broken }],
    ['onFault', { onFault: broken }],
    ['onFault, of a refusal', { onFault: broken }, { script: [ask(['unknown']), say('{}')] }],
    [
      'validate',
      { validate: async () => broken() },
      { script: [say('{}')], request: { responseFormat: { type: 'json_schema', name: 'answer', schema: {} } } },
    ],
  ]

  test.each(parts)(
    '%s: the run fails once, each call has its result, and only operators see the reason',
    async (...part) => {
      const [, loop, more] = part
      const idempotent = { annotations: { idempotent: true } }
      const tools = [
        tool('add', undefined, idempotent),
        tool('fails', () => Promise.reject(new Error('down')), idempotent),
      ]
      const { events, faults, state } = await play({ script, tools, loop, ...more })
      expect(types(events).filter((type) => type === 'run.finished')).toHaveLength(1)
      expect(events.at(-1)).toMatchObject(failed)
      expect(state.calls.every(({ result }) => result)).toBe(true)
      expect(JSON.stringify(events)).not.toContain('secret detail')
      expect(JSON.stringify(faults)).toContain('secret detail')
    },
  )
})

describe('a hook around the run', () => {
  test('that never continues fails the run', async () => {
    const { events } = await play({ script: [], loop: { hooks: [{ name: 'forgets', run: async () => {} }] } })
    expect(events.at(-1)).toMatchObject(failed)
  })

  test('sees the results that were stored before the run was lost', async () => {
    const observations: RunEvent[] = []
    let journalTypes: string[] = []
    const hook: Hook = {
      name: 'asks elsewhere',
      run: async (next) => {
        await Promise.resolve()
        journalTypes = types(observations)
        await next()
      },
    }
    await play({
      script: [say('done')],
      loop: { hooks: [hook] },
      onEvent: (event) => observations.push(event),
      before: (state) => {
        fold(state, { type: 'run.started', model: 'test/scripted', tools: [], at: 0 })
        fold(state, { type: 'step.started', step: 1 })
      },
    })
    expect(journalTypes).toEqual(['step.restarted'])
  })
})

test('a hook that returns a promise of its own kind, as over RPC, sees the earlier results', async () => {
  const observations: RunEvent[] = []
  let journalTypes: string[] = []
  const hook: Hook = {
    name: 'elsewhere',
    activate: (names) => {
      const answer = Promise.resolve(names)
      return {
        // oxlint-disable-next-line unicorn/no-thenable
        then: (...way: Parameters<typeof answer.then>) => {
          journalTypes = types(observations)
          return answer.then(...way)
        },
      } as typeof answer
    },
  }
  const { events } = await play({
    script: [say('done')],
    loop: { hooks: [hook] },
    onEvent: (event) => observations.push(event),
  })
  expect(journalTypes).toEqual(['run.started'])
  expect(bodies(events).at(-1)).toMatchObject({ answer: 'done' })
})

test('the limit of a tool with the name of an Object.prototype member is its own number', async () => {
  const { state } = await play({
    script: [ask(['constructor'], ['constructor']), say('done')],
    tools: [tool('constructor')],
    request: { compat: 'spring-ai', onLimit: 'model', limits: { callsPerTool: 1, tools: { other: 5 } } },
  })
  expect(state.calls.map(({ callId, result }) => [callId, result?.error?.message])).toEqual([
    [id(1, 0), undefined],
    [
      id(1, 1),
      "Tool call limit (1) exceeded for tool 'constructor'. No further calls to this tool are allowed in this turn.",
    ],
  ])
})

test('a hook that throws after the run has ended is reported, and the run is unchanged', async () => {
  const hook: Hook = { name: 'tells', run: (next) => next().then(broken) }
  const { events, faults, state } = await play({ script: [say('done')], loop: { hooks: [hook] } })
  expect(state.finished).toMatchObject({ status: 'completed', answer: 'done' })
  expect(types(events).filter((type) => type === 'run.finished')).toHaveLength(1)
  expect(faults).toMatchObject([{ code: 'hook_failed' }])
})
