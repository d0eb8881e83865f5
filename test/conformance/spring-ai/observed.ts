import { expect } from 'vitest'
import type { Span } from '../../../src/observe/span-recorder.ts'
import { type SpanOptions, spans } from '../../fixtures/spans.ts'
import { ask, id, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import type { CallSpec } from '../scene.ts'

const toolA = tool('toolA', () => 'done')
const silent = tool('silent', () => ({ ok: true, content: [] }))

/** The spans of a run that calls these tools in one step. */
async function traced(calls: readonly CallSpec[], options: SpanOptions = {}): Promise<Span[]> {
  const runSpans: Span[] = []
  await play({
    script: [ask(...calls), say('done')],
    tools: [toolA, silent],
    loop: { observe: spans((span) => runSpans.push(span), { now: () => 5, ...options }) },
  })
  return runSpans
}

const ofCalls = (runSpans: readonly Span[]) => runSpans.filter(({ name }) => name.startsWith('execute_tool'))

/** Rows 131 to 134: what is told of calls to those who watch. */
export const observed: readonly Row[] = [
  {
    row: 131,
    says: 'the span of a call is named after its tool, and says what it is',
    verdict: same(async () => {
      expect(ofCalls(await traced([['toolA']]))).toEqual([
        {
          name: 'execute_tool toolA',
          traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
          spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
          parentId: expect.stringMatching(/^[0-9a-f]{16}$/),
          start: 0,
          end: 5,
          kind: 'internal',
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': 'toolA',
            'gen_ai.tool.call.id': id(1, 0),
            'gen_ai.tool.type': 'function',
            'edgecall.attempt': 1,
            'edgecall.tool.place': 'test',
            'edgecall.tool.version': '1',
          },
        },
      ])
    }),
  },
  {
    row: 132,
    says: 'it has a type, an id and arguments, whatever the model left out',
    verdict: different(
      'an id is never empty, since the edge makes it; arguments are an object, as the convention demands',
      async () => {
        const [span] = ofCalls(await traced([['toolA', '']], { includeContent: true }))
        expect(span?.attributes).toMatchObject({
          'gen_ai.tool.type': 'function',
          'gen_ai.tool.call.id': id(1, 0),
          'gen_ai.tool.call.arguments': '{}',
        })
      },
    ),
  },
  {
    row: 133,
    says: 'arguments and results are in it where that was asked for, and not else',
    verdict: same(async () => {
      const [plain] = ofCalls(await traced([['toolA', { a: 1 }]]))
      const keys = Object.keys(plain?.attributes ?? {})
      expect(keys.filter((key) => /tool\.name|arguments|result/.test(key))).toEqual(['gen_ai.tool.name'])
      const [full, empty] = ofCalls(await traced([['toolA', { a: 1 }], ['silent']], { includeContent: true }))
      expect(full?.attributes).toMatchObject({
        'gen_ai.tool.call.arguments': '{"a":1}',
        'gen_ai.tool.call.result': '{"content":[{"type":"text","text":"done"}]}',
      })
      expect(empty?.attributes).toMatchObject({ 'gen_ai.tool.call.result': '{"content":[]}' })
    }),
  },
  {
    row: 134,
    says: 'the spans of model calls stand in that of the run, by step, those of tools beside the model call that asked',
    verdict: same(async () => {
      const spans = await traced([['toolA'], ['silent']])
      const placeOf = (spanId: string | undefined) => spans.findIndex((span) => span.spanId === spanId)
      expect(spans.map(({ name, parentId }) => [name, placeOf(parentId)])).toEqual([
        ['chat scripted', 3],
        ['execute_tool toolA', 3],
        ['execute_tool silent', 3],
        ['step 1', 6],
        ['chat scripted', 5],
        ['step 2', 6],
        ['invoke_agent', -1],
      ])
      expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    }),
  },
]
