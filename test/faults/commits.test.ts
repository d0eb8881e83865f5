import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import { failure } from '../../src/contract/tool.ts'
import { freezeClock } from '../fixtures/frozen-clock.ts'
import { ask, id, requestOf, RUN_ID, say, tool, types } from '../fixtures/play.ts'
import { atEachCommit, countOf, type MakeScene, model, playOut } from './commits.ts'
import { keptFault } from './history.ts'
import { type Commit, type Dies, Lives } from './lives.ts'

freezeClock(60_000)

const OTHER_ID = 'run_0000000000000000000001'
const IDEMPOTENT = { annotations: { idempotent: true } }

describe('an object that is lost at any commit and again after its restart', () => {
  test('undoes at least once, with the same key, and records the undo once', async () => {
    const make: MakeScene = (effects) => {
      const undoable = (name: string) => ({
        ...tool(name, (_args, { idempotencyKey }) => void effects.push(`did ${idempotencyKey}`), {
          ...IDEMPOTENT,
          undo: true,
        }),
        undo: async ({ context }: { context: { idempotencyKey: string } }) => {
          effects.push(`undid ${context.idempotencyKey}`)
          return { ok: true, content: [] } as const
        },
      })
      return {
        tools: [undoable('book'), undoable('charge'), tool('broken', () => failure('broken', 'It broke.'))],
        request: { compensate: true },
        answer: model(ask(['book']), ask(['charge'], ['broken']), say('Sorry.')),
      }
    }
    const counts = new Set<number>()
    await atEachCommit(make, ({ record, events, effects }) => {
      expect(record).toMatchObject({ status: 'completed', answer: 'Sorry.' })
      const undone = events.flatMap((event) => (event.type === 'call.undone' ? [[event.callId, event.ok]] : []))
      // The newest first.
      expect(undone).toEqual([
        [id(2, 0), true],
        [id(1, 0), true],
      ])
      for (const call of [id(1, 0), id(2, 0)]) {
        counts.add(countOf(effects, `undid ${call}`))
        expect(effects.indexOf(`undid ${call}`)).toBeGreaterThan(effects.indexOf(`did ${call}`))
      }
    })
    expect(counts).toEqual(new Set([1, 2, 3]))
  })
})

describe('a steering input whose object is lost at any commit', () => {
  test('joins the run once, or is a run of its own, however often it is posted with its key', async () => {
    const steer = {
      run: requestOf({
        runId: OTHER_ID,
        conversation: 'conv_1',
        fingerprint: 'f',
        input: [{ role: 'user', content: 'By the way' }],
      }),
      tools: '[]',
      onBusy: 'steer',
      create: false,
    } as const
    const make: MakeScene = (_effects, lives) => ({
      tools: [
        tool('slow', async () => {
          await lives().object.start(steer)
          return 'done'
        }),
      ],
      answer: ({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? say(`Heard ${messages.length}.`) : ask(['slow']),
    })
    const ends = new Set<string>()
    await atEachCommit(make, async ({ events, record, lives }) => {
      expect(record.status).toBe('completed')
      const joined = types(events).filter((type) => type === 'input.added').length
      expect(record.answer).toBe(`Heard ${3 + joined}.`)
      const reply = await lives.object.start(steer)
      ends.add(`joined ${joined}, then ${reply.ok && reply.runId} ${reply.ok && reply.replayed}`)
    })
    expect(ends).toEqual(new Set([`joined 0, then ${OTHER_ID} false`, `joined 1, then ${RUN_ID} true`]))
  })
})

describe('a run whose prompt is reduced while its object is lost at any commit', () => {
  test('sends the model the prompts of an undisturbed run, and completes', async () => {
    let prompts: string[] = []
    const make: MakeScene = (effects) => {
      prompts = []
      return {
        tools: [
          tool(
            'pays',
            ({ number }) => {
              effects.push(`paid ${String(number)}`)
              return `paid ${String(number)} ${'so '.repeat(300)}`
            },
            IDEMPOTENT,
          ),
        ],
        windowTokens: 1400,
        // The tools that it can see it has paid with, in a result, a call or a note.
        answer: ({ messages }) => {
          const prompt = JSON.stringify(messages)
          prompts.push(prompt)
          const paid = Math.max(
            0,
            ...[...prompt.matchAll(/paid (\d)|number\W+(\d)/g)].map(([, a, b]) => Number(a ?? b)),
          )
          // Without usage, the estimate of the edge stands, in each life.
          if (paid === 9)
            return [
              { type: 'text', text: 'Done.' },
              { type: 'finish', finish: 'stop' },
            ]
          const call = { index: 0, tool: 'pays', arguments: `{"number":${paid + 1}}` }
          return [
            { type: 'call', ...call },
            { type: 'finish', finish: 'tool_calls' },
          ]
        },
      }
    }
    const { events } = await playOut(make)
    const undisturbed = prompts
    expect(undisturbed).toHaveLength(10)
    expect(types(events).filter((type) => type === 'context.reduced').length).toBeGreaterThan(1)
    await atEachCommit(
      make,
      ({ record }) => {
        expect(record).toMatchObject({ status: 'completed', answer: 'Done.' })
        // A life that is lost asks again, with the same prompt.
        expect(prompts.filter((prompt, index) => prompt !== prompts[index - 1])).toEqual(undisturbed)
      },
      ['later'],
      [undefined, 3],
    )
  })
})

describe('a run that waits for approval while its object is lost at any commit', () => {
  test('waits again, is decided once, continues within a minute, and runs the approved call at most once', async () => {
    let began = 0
    const make: MakeScene = (effects) => ({
      tools: [
        tool('pays', (_args, { callId }) => void effects.push(callId), { approval: 'always' }),
        tool('looks', (_args, { callId }) => void effects.push(callId)),
      ],
      answer: model(ask(['pays'], ['looks']), say('Done.')),
      decide: (object) => {
        began = Date.now()
        return object.answer(RUN_ID, { [id(1, 0)]: { decision: 'approve' } })
      },
    })
    const values = new Set<boolean | undefined>()
    await atEachCommit(
      make,
      ({ record, events, effects }) => {
        expect(record).toMatchObject({ status: 'completed', answer: 'Done.' })
        expect(types(events).filter((type) => type.startsWith('approval.'))).toEqual([
          'approval.requested',
          'approval.decided',
        ])
        expect(types(events).filter((type) => /^run\.(waiting|resumed)$/.test(type))).toEqual([
          'run.waiting',
          'run.resumed',
        ])
        expect(Date.now() - began).toBeLessThanOrEqual(60_000)
        expect(effects).toEqual([...new Set(effects)])
        for (const { id, ok } of record.calls) if (ok) expect(effects).toContain(id)
        for (const { ok } of record.calls) values.add(ok)
        // An answer and the alarm that watches over what comes of it are one write.
      },
      ['before', 'later'],
    )
    expect(values).toEqual(new Set([true, false]))
  })
})

describe('an object that is evicted', () => {
  /** Says that a life is over with its first commit after which the journal holds one more of these events. */
  function after(isIt: (event: RunEvent) => boolean): { make: MakeScene; dies: Dies } {
    let lives: () => Lives
    let life = 0
    let transactions = 0
    const count = () => lives().events().filter(isIt).length
    const dies = (at: Commit) => {
      if (at.life > life) [life, transactions] = [at.life, count()]
      return at.when === 'later' && count() > transactions
    }
    const make: MakeScene = (effects, world) => {
      lives = world
      return {
        tools: [tool('one', (_args, { callId }) => void effects.push(callId))],
        answer: model(
          ask(['one'], ['one', { again: true }]),
          ask(['one', { more: 1 }]),
          ask(['one', { more: 2 }]),
          say('Done.'),
        ),
      }
    }
    return { make, dies }
  }

  test('after every step completes its run, and runs no call twice', async () => {
    const { make, dies } = after(({ type }) => type === 'step.finished')
    const { record, effects, lives } = await playOut(make, dies)
    expect(record).toMatchObject({ status: 'completed', answer: 'Done.', steps: 4 })
    expect(effects).toEqual([id(1, 0), id(1, 1), id(2, 0), id(3, 0)])
    expect(lives.lives).toBeGreaterThan(4)
  })

  test('after every commit has its run parked after three restarts without progress; a retry completes it', async () => {
    const { make, dies } = after(() => true)
    const effects: string[] = []
    const lives: Lives = new Lives(make(effects, () => lives))
    await lives.play(dies)
    expect((await lives.answers()).record).toMatchObject({ status: 'parked', error: { code: 'run_parked' } })
    await lives.retry()
    const { record, messages } = await lives.answers()
    expect(record).toMatchObject({ status: 'completed', answer: 'Done.' })
    expect(keptFault(messages)).toBeUndefined()
    expect(effects).toEqual([...new Set(effects)])
  })
})
