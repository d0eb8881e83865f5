import { FEATURES } from '../fixtures/setup.ts'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'
import type { RunEvent } from '../../src/contract/event.ts'
import type { ChatModel } from '../../src/contract/model.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { LoopSetup } from '../../src/contract/hook.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Tool } from '../../src/contract/tool.ts'
import { Readers } from '../../src/conversation/run/readers.ts'
import { Runner } from '../../src/conversation/run/runner.ts'
import { Store } from '../../src/conversation/store/store.ts'
import { Waiters } from '../../src/conversation/run/cancel-run.ts'
import type { Script } from '../fixtures/scripted.ts'
import { ask, requestOf, RUN_ID, say, tool, types } from '../fixtures/play.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { eventsOf } from './object.ts'

/** A conversation's database, and the lives that its object has had. */
class World {
  readonly database = new DatabaseSync(':memory:')
  /** Attempts whose effect happened, by call. */
  readonly effects: string[] = []
  readonly requests: unknown[] = []
  now = 0
  wakeAt = 0
  /** The next life cancels the run as soon as it has begun. */
  cancels = false
  readonly #script: readonly Script[]
  readonly #definition: Partial<ToolDefinition>
  /** Of the next life. */
  loop: LoopSetup = {}

  constructor(script: readonly Script[], definition: Partial<ToolDefinition> = {}) {
    this.#script = script
    this.#definition = definition
    this.store().create()
  }

  store(onTransaction?: (moment: 'before' | 'after') => void): Store {
    return new Store(memoryStorage(this.database, onTransaction))
  }

  accept(): void {
    const definitions = this.#tools().map(({ definition }) => definition)
    this.store().runs.add(
      requestOf({ conversation: 'conv_1', isFromUser: true }),
      JSON.stringify(definitions),
      this.now,
    )
  }

  /** One life of the object, which ends for good once `dies` says so. Resolves when it has nothing more to do. */
  async live(dies: (transaction: number, moment: 'before' | 'after') => boolean = () => false): Promise<void> {
    let transaction = 0
    let isUp = false
    let dead = false
    const died = Promise.withResolvers<void>()
    const store = this.store((moment) => {
      if (!isUp) return
      if (moment === 'before') transaction += 1
      if (dead || dies(transaction, moment)) {
        dead = true
        died.resolve()
        throw new Error('the object is gone')
      }
    })
    isUp = true
    const runner = new Runner({
      setup: this.#setup(),
      store,
      readers: new Readers(),
      waiters: new Waiters(),
      now: () => this.now,
      reportUnended: () => {},
      onParked: () => {},
      wakeAt: (time) => void (this.wakeAt = time),
      window: () => ({
        options: { messages: 200, tokens: 100_000, show: 'all', summary: false },
        isSliding: false,
      }),
    })
    runner.checkCurrent()
    runner.pump()
    const current = runner.runs.current()
    if (this.cancels && current) {
      await runner.cancel(current)
      expect(current.state.status).toBe('cancelled')
    }
    await Promise.race([died.promise, runner.runs.current()?.completion])
  }

  /** Lives until the run has ended, woken as the object would be, and says how many lives that took. */
  async liveOn(): Promise<void> {
    for (let life = 0; life < 10; life++) {
      await this.live()
      if (this.store().runs.record(RUN_ID)) return
      this.now = Math.max(this.now + 1, this.wakeAt)
    }
    throw new Error('the run does not end')
  }

  events(): RunEvent[] {
    return eventsOf(this.store(), RUN_ID)
  }

  #tools(): Tool[] {
    const effect = (name: string) =>
      tool(
        name,
        (_args, { callId, attempt }) => {
          this.effects.push(`${callId.slice(-3)}#${attempt}`)
          return `did ${name}`
        },
        this.#definition,
      )
    return [effect('one'), effect('two')]
  }

  #setup(): Setup {
    const model: ChatModel = {
      name: 'test/scripted',
      stream: (request, signal) => {
        this.requests.push(request)
        const step = this.#script[request.messages.filter(({ role }) => role === 'assistant').length]!
        return streamOf(typeof step === 'function' ? step(request, signal) : step)
      },
    }
    const find = async () => this.#tools()
    return {
      isolate: {},
      config: readConfig({ MODEL: model.name, AUTH: 'open' }),
      models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] },
      tools: () => ({ find, list: async () => ({ tools: this.#tools(), unavailable: [] }) }),
      report: () => {},
      loop: { ...FEATURES, ...this.loop },
    } as unknown as Setup
  }
}

async function* streamOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item> {
  yield* items
}

const SCRIPT = [ask(['one'], ['two']), ask(['one']), say('Done.')]

function expectWhole(world: World): void {
  const events = world.events()
  const seqs = events.map((event) => event.seq)
  expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b))
  expect(types(events).filter((type) => type === 'run.finished')).toHaveLength(1)
  expect(types(events).at(-1)).toBe('run.finished')
  const settled = events.filter((event) => event.type === 'call.settled').map((event) => event.callId)
  expect(settled).toEqual([...new Set(settled)])
  const roles = world
    .store()
    .messages.page(Number.MAX_SAFE_INTEGER, 100)
    .map(({ message }) => message.role)
  expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'assistant'])
  expect(world.store().runs.record(RUN_ID)).toMatchObject({ status: 'completed', answer: 'Done.' })
}

/** How many transactions an undisturbed run takes. */
async function transactions(): Promise<number> {
  const world = new World(SCRIPT)
  world.accept()
  let count = 0
  await world.live((transaction) => {
    count = transaction
    return false
  })
  return count
}

describe('an object that is lost at any commit', () => {
  test.each(['before', 'after'] as const)(
    '%s it was written ends its run once, with a complete journal',
    async (moment) => {
      const count = await transactions()
      expect(count).toBeGreaterThan(6)
      for (let at = 1; at <= count; at++) {
        const world = new World(SCRIPT)
        world.accept()
        await world.live((transaction, now) => transaction === at && now === moment)
        await world.liveOn()
        expectWhole(world)
        // At most once: no effect happens twice, and nothing is sent again.
        expect(world.effects.every((effect) => effect.endsWith('#1'))).toBe(true)
        expect(new Set(world.effects).size).toBe(world.effects.length)
      }
    },
  )

  test('sends an idempotent call in flight again with the same key, after its deadline', async () => {
    const count = await transactions()
    let resent = 0
    for (let at = 1; at <= count; at++) {
      const world = new World(SCRIPT, { annotations: { idempotent: true } })
      world.accept()
      await world.live((transaction, now) => transaction === at && now === 'after')
      const inFlight = world.events().filter((event) => event.type === 'call.started')
      await world.liveOn()
      expectWhole(world)
      // Whatever happened, each of the three calls took effect.
      expect(new Set(world.effects.map((effect) => effect.slice(0, 3)))).toEqual(new Set(['1_0', '1_1', '2_0']))
      const repeats = world.events().filter((event) => event.type === 'call.started' && event.attempt > 1)
      resent += repeats.length
      for (const event of repeats) {
        const before = inFlight.find((each) => 'callId' in event && each.callId === event.callId)
        expect('at' in event && event.at).toBeGreaterThan(before?.deadline ?? Infinity)
      }
    }
    expect(resent).toBeGreaterThan(0)
  })

  test('asks a decision model once about each call, unless it was lost before the answer was stored', async () => {
    const judged = (world: World) =>
      world.events().flatMap((event) => (event.type === 'call.judged' ? [event.callId.slice(-3)] : []))
    for (const moment of ['before', 'after'] as const) {
      let lives = 0
      for (let at = 1, isOver = false; !isOver; at++) {
        const questions: string[] = []
        const world = new World(SCRIPT, { approval: 'always', modelMayApprove: true })
        world.loop = {
          judge: {
            call: async ({ definition }) => {
              questions.push(definition.name)
              return { ok: true, model: 'systemone/nimble', answer: 'go_ahead', probabilities: { go_ahead: 1 } }
            },
          },
        }
        world.accept()
        isOver = true
        await world.live((transaction, now) => {
          const dies = transaction === at && now === moment
          if (dies) isOver = false
          return dies
        })
        const stored = judged(world)
        const before = questions.length
        await world.liveOn()
        expectWhole(world)
        expect(judged(world)).toEqual(['1_0', '1_1', '2_0'])
        // What was stored is not questions about again.
        expect(questions.slice(before)).toHaveLength(3 - stored.length)
        lives += 1
      }
      expect(lives).toBeGreaterThan(6)
    }
  })

  test('ends a run at once that is cancelled while it waits for a fence', async () => {
    const count = await transactions()
    for (let at = 1; at < count; at++) {
      const world = new World(SCRIPT, { annotations: { idempotent: true } })
      world.accept()
      await world.live((transaction, now) => transaction === at && now === 'after')
      world.cancels = true
      await world.live()
      expect(world.store().runs.record(RUN_ID)).toMatchObject({ status: 'cancelled' })
      expect(types(world.events()).at(-1)).toBe('run.finished')
    }
  })

  test('repeats a model step that was not answered and keeps nothing of the first attempt', async () => {
    const world = new World([say('Done.')])
    world.accept()
    // Lost when the answer was to be written.
    await world.live((_transaction, moment) => moment === 'before' && world.requests.length === 1)
    await world.liveOn()
    expect(world.requests).toHaveLength(2)
    expect(types(world.events())).toEqual([
      'run.started',
      'step.started',
      'step.restarted',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
  })

  test('gives up a run once that is interrupted again and again', async () => {
    const world = new World(SCRIPT)
    world.accept()
    for (let life = 0; life < 8; life++) {
      const noteRequests = world.requests.length
      await world.live((_transaction, moment) => moment === 'before' && world.requests.length > noteRequests)
      world.now += 60_000
    }
    await world.liveOn()
    expect(world.store().runs.record(RUN_ID)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } })
    expect(types(world.events()).filter((type) => type === 'run.finished')).toHaveLength(1)
  })

  test('does not give up a run that makes progress between more than five interruptions', async () => {
    const world = new World([...Array.from({ length: 8 }, (_, n) => ask(['one', { n }])), say('Done.')])
    world.accept()
    for (let life = 0; life < 7; life++) {
      const effects = world.effects.length
      await world.live((_transaction, moment) => moment === 'before' && world.effects.length > effects)
      world.now += 60_000
    }
    await world.liveOn()
    expect(world.store().runs.record(RUN_ID)).toMatchObject({ status: 'completed', answer: 'Done.' })
    const messages = world.store().messages.page(Number.MAX_SAFE_INTEGER, 100)
    const roles = messages.map(({ message }) => message.role)
    expect(roles).toEqual(['user', ...Array.from({ length: 8 }, () => ['assistant', 'tool']).flat(), 'assistant'])
  })
})

describe('a run that waits for people', () => {
  test('has its approvals rejected after a day, and continues', async () => {
    const world = new World([ask(['one']), say('Then not.')], { approval: 'always' })
    world.accept()
    await world.live()
    world.now = 24 * 60 * 60 * 1000 - 1
    await world.live()
    expect(types(world.events()).at(-1)).toBe('run.waiting')
    world.now += 1
    await world.live()
    expect(types(world.events()).slice(-10)).toEqual([
      'run.waiting',
      'approval.decided',
      'run.resumed',
      'call.settled',
      'step.finished',
      'step.started',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
    expect(world.store().runs.record(RUN_ID)).toMatchObject({ status: 'completed', answer: 'Then not.' })
    expect(world.effects).toEqual([])
  })
})
