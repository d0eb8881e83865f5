import * as v from 'valibot'
import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import { type Message, contentText } from '../../../src/contract/message.ts'
import { defineRawTool, defineTool } from '../../../src/tool.ts'
import { chain } from '../../../src/host/source/chain.ts'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, chat, chatStream, namesIn, QUESTION, resultsIn } from '../scene.ts'

const SUM = { type: 'object', properties: { left: { type: 'integer' }, right: { type: 'integer' } } }
const add = tool('add', ({ left, right }) => Number(left) + Number(right))

const none = v.object({})

/** Offers a tool for a request that speaks of it. */
const booking = (name: string): Hook => ({
  name: `offers ${name}`,
  offer: ({ input }) => (input.some(({ content }) => contentText(content).includes(name)) ? [name] : []),
})

/** Says anew before each step which tools are on offer. */
function steps(activate: NonNullable<Hook['activate']>): { readonly hooks: readonly Hook[] } {
  return { hooks: [{ name: 'steps', activate }] }
}

/** Rows 61 to 66: where tools come from. */
export const offer: readonly Row[] = [
  {
    row: 61,
    says: 'a tool may be made from data, with a name and parameters of its own, and is told to the model as it is',
    verdict: same(async () => {
      const tools = await carried(
        defineRawTool({ name: 'sum-of_2', description: 'Adds', inputSchema: SUM }, (args) => JSON.stringify(args)),
      )
      const { requests } = await chat({ script: [ask(['sum-of_2', { left: 1, right: 2 }]), say('3')], tools })
      expect(requests[0]?.tools).toMatchObject([{ name: 'sum-of_2', description: 'Adds', inputSchema: SUM }])
      expect(resultsIn(requests[1]?.messages)).toEqual(['{"left":1,"right":2}'])
    }),
  },
  {
    row: 62,
    says: 'a provider gives the tools of a request; several of them, and tools that are always there, come together',
    verdict: same(async () => {
      const scene = {
        script: [say('ok')],
        tools: [add],
        others: [tool('booking'), tool('weather')],
        setup: { loop: { hooks: [booking('booking'), booking('weather')] } },
      }
      const offeredFor = async (content: string) => {
        const { requests } = await chat({ ...scene, body: { messages: [{ role: 'user', content }] } })
        return namesIn(requests[0])
      }
      expect(await offeredFor('Hello')).toEqual(['add'])
      expect(await offeredFor('A booking')).toEqual(['add', 'booking'])
      expect(await offeredFor('booking for good weather')).toEqual(['add', 'booking', 'weather'])
    }),
  },
  {
    row: 63,
    says: 'a name that two places define is an error of the request',
    verdict: different(
      'of one name and two meanings none is called; one that the caller sends too is the caller’s',
      async () => {
        const sourceOf = (description: string) =>
          inlineSource([defineTool({ name: 'same', description, input: none, run: () => '' })], {
            env: {},
            place: description,
          })
        const two = await chain([sourceOf('One'), sourceOf('Two')]).list()
        const reason = 'The tool "same" is defined differently by One and Two; none of them is called.'
        expect(two).toEqual({
          tools: [],
          unavailable: [
            { origin: 'inline', place: 'One', reason, name: 'same' },
            { origin: 'inline', place: 'Two', reason, name: 'same' },
          ],
        })
        const definition = { type: 'function', function: { name: 'add', parameters: SUM } }
        const { requests, headers } = await chat({ script: [say('Hi.')], tools: [add], body: { tools: [definition] } })
        expect(requests[0]?.tools).toMatchObject([{ name: 'add', description: '', inputSchema: SUM }])
        expect(headers.get('edgecall-ignored')).toBe('edgecall.tools.add')
      },
    ),
  },
  {
    row: 64,
    says: 'one provider is asked once for a request, another before each step; in a stream too',
    verdict: same(async () => {
      for (const ways of [chat, chatStream]) {
        const receivedRequests: string[] = []
        const hook: Hook = {
          name: 'both',
          offer: () => {
            receivedRequests.push('request')
            return []
          },
          activate: (names) => {
            receivedRequests.push('step')
            return names
          },
        }
        await ways({ script: [ask(['add']), say('0')], tools: [add], setup: { loop: { hooks: [hook] } } })
        expect(receivedRequests).toEqual(['request', 'step', 'step'])
      }
    }),
  },
  {
    row: 65,
    says: 'tools may join before a later step, and none ever leaves',
    verdict: different('what is not named any more is not on offer: a step may have fewer tools too', async () => {
      const offers = [['add'], ['add', 'late', 'nosuch'], ['late'], []]
      const { requests, state } = await play({
        script: [ask(['add']), ask(['late']), ask(['add']), say('done')],
        tools: [add],
        others: [tool('late', () => 'late!')],
        loop: steps((_, { step }) => offers[step] ?? []),
      })
      expect(requests.map(namesIn)).toEqual([['add'], ['add', 'late'], ['late'], []])
      expect(resultsIn(state.messages)).toEqual([
        'NaN',
        'late!',
        'There is no tool "add". Call one that is on offer, such as "late".',
      ])
    }),
  },
  {
    row: 66,
    says: 'a provider of a later step still knows what the user said, though the window does not show it',
    verdict: same(async () => {
      const inputs: unknown[] = []
      const old: Message[] = [
        { role: 'user', content: 'Long ago' },
        { role: 'assistant', content: 'Yes' },
      ]
      await play({
        script: [ask(['add']), say('0')],
        tools: [add],
        history: old,
        loop: steps((names, { run }) => {
          inputs.push(run.input)
          return names
        }),
      })
      expect(inputs).toEqual([[QUESTION], [QUESTION]])
    }),
  },
]
