import { expect, onTestFinished, test } from 'vitest'
import { isObject } from '../../src/contract/json.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { modelChooser } from '../../src/model/choose.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { play, tool } from '../fixtures/play.ts'

const KEYS = /^[a-zA-Z0-9_.-]{1,64}$/

/** Refuses what Anthropic's API refuses of tools, with its words. */
function refusalOf(tools: readonly unknown[]): string | undefined {
  for (const [index, each] of tools.entries()) {
    const schema = isObject(each) && isObject(each.input_schema) ? each.input_schema : {}
    const at = `tools.${index}.custom.input_schema`
    if (['oneOf', 'allOf', 'anyOf'].some((word) => word in schema))
      return `${at}: input_schema does not support oneOf, allOf, or anyOf at the top level`
    if (hasBadKey(schema)) return `${at}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`
    if (JSON.stringify(schema).includes('"required":true'))
      return `${at}: JSON schema is invalid. It must match JSON Schema draft 2020-12`
  }
  return undefined
}

function hasBadKey(part: unknown): boolean {
  if (!isObject(part)) return false
  const { properties, items } = part
  const own = isObject(properties) ? Object.entries(properties) : []
  return own.some(([key, inner]) => !KEYS.test(key) || hasBadKey(inner)) || hasBadKey(items)
}

test('a run with a tool that Anthropic would refuse calls it, corrects itself and ends', async () => {
  const answers = [
    { content: [{ type: 'tool_use', id: 'a', name: 'list', input: { top: 'ten', filter_name: 'x' } }] },
    { content: [{ type: 'tool_use', id: 'b', name: 'list', input: { top: 10, rows: [{ Account_Number: '7' }] } }] },
    { content: [{ type: 'text', text: 'Done.' }] },
  ]
  const server = await startModelServer(({ body }) => {
    const message = refusalOf(body.tools ?? [])
    if (message) return { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } }
    const answer = answers.shift()
    const stop_reason = answers.length > 0 ? 'tool_use' : 'end_turn'
    return { body: { type: 'message', role: 'assistant', stop_reason, ...answer } }
  })
  onTestFinished(() => server.close())
  const received: unknown[] = []
  const list = tool(
    'list',
    (args) => {
      received.push(args)
      return args.$top === 10
        ? '10 rows'
        : {
            ok: false,
            error: {
              code: 'invalid_arguments',
              message: 'The arguments of "list" do not fit:\n- $top: expected integer, received "ten"',
            },
          }
    },
    {
      inputSchema: {
        type: 'object',
        properties: {
          $top: { type: 'integer', required: true },
          'filter[name]': { type: 'string' },
          rows: { type: 'array', items: { type: 'object', properties: { 'Account Number': { type: 'string' } } } },
        },
        anyOf: [{ required: ['$top'] }, { required: ['filter[name]'] }],
      },
    },
  )
  const reports: object[] = []
  const chosen = modelChooser({
    providers: { anthropic: anthropic({ baseUrl: server.baseUrl, cache: 'off' }) },
    defaultModel: 'anthropic/probe',
    report: (entry) => void reports.push(entry),
  }).resolve()
  const model = chosen.ok ? chosen.model : expect.unreachable('There is no model')
  const { state, events } = await play({ script: [0, 1, 2].map(() => model.stream.bind(model)), tools: [list] })
  expect(state.finished).toMatchObject({ status: 'completed', answer: 'Done.' })
  expect(received).toEqual([
    { $top: 'ten', 'filter[name]': 'x' },
    { $top: 10, rows: [{ 'Account Number': '7' }] },
  ])
  const calls = events.flatMap((event) => (event.type === 'step.answered' ? event.calls : []))
  expect(calls.map(({ arguments: text }) => text)).toEqual([
    '{"$top":"ten","filter[name]":"x"}',
    '{"$top":10,"rows":[{"Account Number":"7"}]}',
  ])
  expect(server.calls[1]?.body.messages.slice(1)).toMatchObject([
    { content: [{ type: 'tool_use', name: 'list', input: { top: 'ten', filter_name: 'x' } }] },
    {
      content: [
        {
          type: 'tool_result',
          is_error: true,
          content: [
            { type: 'text', text: 'The arguments of "list" do not fit:\n- top: expected integer, received "ten"' },
          ],
        },
      ],
    },
  ])
  expect(server.calls.map(({ body }) => JSON.stringify(body.tools))).toEqual(
    Array.from({ length: 3 }, () => JSON.stringify(server.calls[0]?.body.tools)),
  )
  // Once, although the tool is sent three times.
  expect(reports).toEqual([
    {
      event: 'tool.cut',
      model: 'anthropic/probe',
      tool: 'list',
      detail: 'properties.$top.required: expected the names of required properties: moved to the object around it',
    },
  ])
})
