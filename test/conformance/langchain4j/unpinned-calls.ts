import * as v from 'valibot'
import { expect } from 'vitest'
import { ask, say, tool } from '../../fixtures/play.ts'
import { different, type Row } from '../rows.ts'
import { chat, chatStream, parseWith, native, resultsIn } from '../scene.ts'
import { COMPAT, integer, misfit, partsOf } from './scene.ts'

const REPEAT = ask(['count'])

function counter() {
  let count = 0
  return tool('count', () => ++count)
}

/** So many rounds of calls, and then an answer. */
const rounds = (count: number) => [...Array.from({ length: count }, () => REPEAT), say('done')]

/** What a limit of rounds makes of so many rounds: the answer, the requests to the model, and the calls that ran. */
async function limited(ways: typeof chat | typeof chatStream, steps: number, roundCount: number) {
  const ran = counter()
  const { requests, ...said } = await ways({
    script: rounds(roundCount),
    tools: [ran],
    body: { edgecall: { limits: { steps } } },
  })
  const answer = 'answer' in said ? said.answer : said.texts.join('')
  const results = resultsIn(requests.at(-1)?.messages)
  return [answer, requests.length, results.filter((text) => /^\d+$/.test(text)).length]
}

/** Rows 102 to 109: calls, where no test of theirs pins what becomes of them. */
export const unpinnedCalls: readonly Row[] = [
  {
    row: 102,
    says: 'a limit of rounds counts the answer too, so that a limit of none fails what needs no tool',
    verdict: different(
      'rounds that ask for tools are counted; under COMPAT=langchain4j answers are, and the one too many fails the run',
      async () => {
        for (const steps of [1, 2]) {
          for (const attempt of [0, 1, 2]) {
            expect(await limited(chat, steps, attempt)).toEqual(['done', attempt + 1, Math.min(steps, attempt)])
          }
        }
        const none = await chat({ body: { edgecall: { limits: { steps: 0 } } } })
        expect([none.status, none.json.error.param]).toEqual([400, 'edgecall.limits.steps'])
        const { json } = await native({ script: rounds(2), tools: [counter()], body: { limits: { steps: 1 } } })
        expect([json.finish, json.which]).toEqual(['limit', 'steps'])
        const theirs = await native({
          script: rounds(2),
          tools: [counter()],
          vars: COMPAT,
          body: { limits: { steps: 1 } },
        })
        expect([theirs.json.run?.status, theirs.json.run?.calls.map(({ ok }) => ok)]).toEqual(['failed', [true, false]])
        const within = await native({
          script: rounds(1),
          tools: [counter()],
          vars: COMPAT,
          body: { limits: { steps: 1 } },
        })
        expect([within.requests.length, within.json.run?.status, within.json.run?.error?.message]).toEqual([
          2,
          'failed',
          'Something is wrong, exceeded 1 tool calling round trips (maxToolCallingRoundTrips)',
        ])
        const enough = await native({
          script: rounds(1),
          tools: [counter()],
          vars: COMPAT,
          body: { limits: { steps: 2 } },
        })
        expect(enough.json).toMatchObject({ status: 'completed', answer: 'done' })
      },
    ),
  },
  {
    row: 103,
    says: 'in a stream the same limit allows one round more',
    verdict: different('a stream has the limits of an answer that is collected', async () => {
      for (const steps of [1, 2]) {
        for (const attempt of [0, 1, 2]) {
          expect(await limited(chatStream, steps, attempt)).toEqual(await limited(chat, steps, attempt))
        }
      }
    }),
  },
  {
    row: 104,
    says: 'of two calls that are alike and have no ids, both get the result of the last',
    verdict: different('each call has an id of the edge, and its own result', async () => {
      for (const concurrentCalls of [1, 8]) {
        const { json, requests } = await native({
          script: [ask(['count'], ['count']), say('done')],
          tools: [counter()],
          body: { limits: { concurrentCalls } },
        })
        expect(resultsIn(requests[1]?.messages)).toEqual(['1', '2'])
        expect(new Set(json.calls.map(({ id }) => id)).size).toBe(2)
      }
    }),
  },
  {
    row: 105,
    says: 'taking commas out of broken arguments takes them out of texts too',
    verdict: different('a comma within a text stays', async () => {
      const input = v.object({ s: v.string() })
      expect(await parseWith(input, '{"s":"a, ]b",}')).toEqual({ s: 'a, ]b' })
      expect(await parseWith(input, '{"s":"a, ]b"}')).toEqual({ s: 'a, ]b' })
    }),
  },
  {
    row: 106,
    says: 'of two objects the first is taken, of two keys the last; null and fences are errors',
    verdict: different(
      'what follows an object is an error too, null is no arguments, and a fence is taken off',
      async () => {
        const input = v.object({ i: integer })
        const noJson = 'The arguments of "tool" are not a JSON object: '
        for (const text of ['{"i":1}{"i":2}', '{"i":1} and more', '[1]']) {
          expect(await parseWith(input, text)).toContain(noJson)
        }
        for (const text of ['```json\n{"i":1}\n```', "{'i':1}"]) expect(await parseWith(input, text)).toEqual({ i: 1 })
        expect(await parseWith(input, '{"i":1,"i":2}')).toEqual({ i: 2 })
        expect(await parseWith(input, 'null')).toBe(misfit('i: is required (integer)'))
        expect(await parseWith(v.object({}), 'null')).toEqual({})
      },
    ),
  },
  {
    row: 107,
    says: 'inside of an object numbers are cut to integers, and missing fields are zero',
    verdict: different('the same holds at every depth: texts of numbers are read, no number is cut', async () => {
      const it = v.object({ age: integer, ok: v.boolean(), xs: v.array(integer) })
      const input = v.object({ it })
      expect(await parseWith(input, { it: { age: '7', ok: 'true', xs: [1] } })).toEqual({
        it: { age: 7, ok: true, xs: [1] },
      })
      expect(await parseWith(input, { it: { age: '7', ok: 'true', xs: [1.9] } })).toContain('- it.xs.0: ')
      expect(await parseWith(input, { it: { age: 7, ok: true } })).toBe(misfit('it.xs: is required (array)'))
    }),
  },
  {
    row: 108,
    says: 'an argument that nobody knows is left out, and a field of an object is an error',
    verdict: different('both are left out, or both are errors: the schema says which', async () => {
      const args = { a: 'x', more: 1, it: { b: 'y', more: 2 } }
      const open = v.object({ a: v.string(), it: v.object({ b: v.string() }) })
      expect(await parseWith(open, args)).toEqual({ a: 'x', it: { b: 'y' } })
      const strict = v.strictObject({ a: v.string(), it: v.strictObject({ b: v.string() }) })
      expect(await parseWith(strict, args)).toContain('- more: ')
      expect(await parseWith(strict, { a: 'x', it: { b: 'y', more: 2 } })).toContain('- it.more: ')
    }),
  },
  {
    row: 109,
    says: 'a result that cannot be written as JSON ends the run, and breaks the memory',
    verdict: different('it is a call that failed, and the model reads so', async () => {
      const loop: Record<string, unknown> = {}
      loop['self'] = loop
      for (const value of [loop, { toJSON: () => Object.assign([], { 0: Symbol('x') }) }, () => 1]) {
        expect(await partsOf(() => value)).toMatchObject({
          ok: false,
          content: [{ type: 'text', text: 'The tool returned a value that cannot be written as JSON.' }],
        })
      }
    }),
  },
]
