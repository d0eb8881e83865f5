import * as v from 'valibot'
import { expect } from 'vitest'
import { agentTool } from '../../../src/agent.ts'
import type { Hook } from '../../../src/contract/hook.ts'
import { type Message, contentText } from '../../../src/contract/message.ts'
import type { ToolContext } from '../../../src/contract/tool.ts'
import { scripted } from '../../fixtures/scripted.ts'
import { toolsOf } from '../../../src/tool.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import { keptEdge } from '../../http/kept-edge.ts'
import { different, type Row, same } from '../rows.ts'
import { carried, chat, chatStream, native, resultsIn } from '../scene.ts'

const add = tool('add', ({ left, right }) => Number(left) + Number(right))

/** Rows 67 to 72: what tools, models and callers are told. */
export const ROWS: readonly Row[] = [
  {
    row: 67,
    says: 'what a request says beside its messages reaches tools, their providers, and from one tool the next',
    verdict: different(
      'nobody changes it: what tools tell each other, they keep by the id of run or conversation',
      async () => {
        const inputs: unknown[] = []
        const look = (_: unknown, { values, runId }: ToolContext) => {
          inputs.push([{ ...values }, runId])
          Reflect.set(values, 'user', 'somebody else')
        }
        const hook: Hook = {
          name: 'provider',
          offer: ({ context, runId }) => {
            inputs.push([context, runId])
            return []
          },
        }
        await native({
          script: [ask(['one'], ['two']), say('ok')],
          tools: [tool('one', look), tool('two', look)],
          setup: { loop: { hooks: [hook] } },
          body: { context: { user: 'Ada' } },
        })
        const runId = (inputs[0] as unknown[])[1]
        expect(inputs).toEqual(Array.from({ length: 3 }, () => [{ user: 'Ada' }, runId]))
      },
    ),
  },
  {
    row: 68,
    says: 'a model with instructions of its own is a tool of another, which reads its answer and knows nothing else of it',
    verdict: same(async () => {
      const model = scripted([say('Rest, and drink.')], 'test/doctor')
      const doctor = await agentTool(
        { name: 'doctor', description: 'Knows of illness', instructions: 'You are a doctor.' },
        { models: { resolve: () => ({ ok: true, name: model.name, model }), list: () => [] } },
      )
      const { answer, requests, json } = await chat({
        script: [ask(['doctor', { question: 'I am ill' }]), say('The doctor says: rest.')],
        tools: [doctor],
      })
      expect(answer).toBe('The doctor says: rest.')
      expect(model.requests.map(({ messages }) => messages)).toEqual([
        [
          { role: 'system', content: 'You are a doctor.' },
          { role: 'user', content: 'I am ill' },
        ],
      ])
      expect(requests[1]?.messages.map(({ content }) => contentText(content))).toEqual([
        'Hello',
        '',
        'Rest, and drink.',
      ])
      expect(json.usage.total_tokens).toBe(3 * 15)
    }),
  },
  {
    row: 69,
    says: 'who asks may want no answer',
    verdict: same(async () => {
      let ran = 0
      const edge = keptEdge({ script: [ask(['work']), say('Never read')], tools: [tool('work', () => ++ran)] })
      await edge.post('/conversations', { id: 'c' })
      const response = await edge.post('/conversations/c/runs', { input: 'Work' }, { prefer: 'respond-async' })
      expect([response.status, response.headers.get('location')]).toEqual([
        202,
        `/conversations/c/runs/${response.headers.get('x-run-id')}`,
      ])
      await (await edge.fetch(`${response.headers.get('location')}/events`)).text()
      expect(ran).toBe(1)
    }),
  },
  {
    row: 70,
    says: 'each request to the model may be changed on its way, and inherited tools are found',
    verdict: same(async () => {
      class Numbers {
        double({ n }: { n: number }) {
          return 2 * n
        }
      }
      class MoreNumbers extends Numbers {}
      const input = v.object({ n: v.number() })
      const tools = await carried(...toolsOf(new MoreNumbers(), { double: { description: 'Doubles', input } }))
      const hook: Hook = {
        name: 'four for three',
        step: (request, next) =>
          next({
            ...request,
            messages: request.messages.map((message): Message =>
              message.role === 'user' && typeof message.content === 'string'
                ? { ...message, content: message.content.replace('3', '4') }
                : message,
            ),
          }),
      }
      const { requests } = await chat({
        script: [ask(['double', { n: 28 }]), say('56')],
        tools,
        setup: { loop: { hooks: [hook] } },
        body: { messages: [{ role: 'user', content: 'Twice 14, and 3' }] },
      })
      expect(requests.map(({ messages }) => messages[0]?.content)).toEqual(['Twice 14, and 4', 'Twice 14, and 4'])
      expect(resultsIn(requests[1]?.messages)).toEqual(['56'])
    }),
  },
  {
    row: 71,
    says: 'a result tells of every call, what the model said between, and of the whole usage',
    verdict: same(async () => {
      const first = [{ type: 'text', text: 'Let me add.' } as const, ...ask(['add', { left: 1, right: 2 }])]
      const { json } = await native({
        script: [first, ask(['add', { left: 3, right: 4 }]), say('3 and 7')],
        tools: [add],
      })
      const call = {
        tool: 'add',
        status: 'settled',
        place: 'test',
        version: '1',
        ok: true,
        durationMs: expect.any(Number),
      }
      const text = (text: string) => [{ type: 'text', text }]
      expect(json).toEqual({
        id: expect.any(String),
        status: 'completed',
        answer: '3 and 7',
        preambles: ['Let me add.'],
        finish: 'stop',
        steps: 3,
        usage: { inputTokens: 30, outputTokens: 15 },
        calls: [
          { ...call, id: expect.any(String), arguments: { left: 1, right: 2 }, content: text('3') },
          { ...call, id: expect.any(String), arguments: { left: 3, right: 4 }, content: text('7') },
        ],
      })
    }),
  },
  {
    row: 72,
    says: 'all of it works without a memory, collected and streamed',
    verdict: same(async () => {
      const scene = { script: [ask(['add', { left: 1, right: 2 }]), say('3')], tools: [add] }
      const { answer, requests } = await chat(scene)
      expect([answer, requests[1]?.messages.map(({ role }) => role)]).toEqual(['3', ['user', 'assistant', 'tool']])
      expect((await chatStream(scene)).texts).toEqual(['3'])
    }),
  },
]
