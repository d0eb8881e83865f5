import { describe, expect, test } from 'vitest'
import type { Content } from '../../../../src/contract/message.ts'
import type { ToolDefinition } from '../../../../src/contract/tool-definition.ts'
import { failure } from '../../../../src/contract/tool.ts'
import { progressNotices, toCallResult, toMcpTool } from '../../../../src/wire/client/mcp/tool.ts'

const definition: ToolDefinition = {
  name: 'forecast',
  description: 'Forecasts.',
  inputSchema: { type: 'object' },
  version: '1',
  hash: 'h',
  annotations: {},
}
const outputSchema = { type: 'object', properties: { a: { type: 'number' } } }
/** As a client reads it. */
const toJson = (value: object): unknown => JSON.parse(JSON.stringify(value))

test('a tool is listed with the fields that a client may see', () => {
  const annotations = { readOnly: true, destructive: false, idempotent: true, openWorld: false }
  expect(toJson(toMcpTool({ ...definition, title: 'Weather', outputSchema, annotations, timeoutMs: 5 }))).toEqual({
    name: 'forecast',
    title: 'Weather',
    description: 'Forecasts.',
    inputSchema: { type: 'object' },
    outputSchema,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  })
  expect(toJson(toMcpTool(definition))).toEqual({
    name: 'forecast',
    description: 'Forecasts.',
    inputSchema: { type: 'object' },
    annotations: {},
  })
})

test('an output schema that is not an object is omitted', () => {
  expect(toJson(toMcpTool({ ...definition, outputSchema: { type: 'string' } }))).not.toHaveProperty('outputSchema')
})

describe('an outcome for MCP clients', () => {
  const content: Content[] = [{ type: 'text', text: 'Here' }]

  test('has all its parts', () => {
    const parts: Content[] = [
      ...content,
      { type: 'image', mediaType: 'image/png', data: 'AA==' },
      { type: 'file', mediaType: 'audio/wav', data: 'BB==' },
      { type: 'file', mediaType: 'application/pdf', data: 'CC==' },
    ]
    expect(toCallResult({ ok: true, content: parts }, definition, true)).toEqual({
      content: [
        { type: 'text', text: 'Here' },
        { type: 'image', mimeType: 'image/png', data: 'AA==' },
        { type: 'audio', mimeType: 'audio/wav', data: 'BB==' },
        { type: 'resource', resource: { uri: 'part:3', mimeType: 'application/pdf', blob: 'CC==' } },
      ],
    })
  })

  test('with a structured value has it too; a list only if the schema allows any value', () => {
    const structured = { a: 1 }
    const visibleContent = { content, structuredContent: structured }
    expect(toCallResult({ ok: true, content, structured }, definition, false)).toEqual(visibleContent)
    expect(toCallResult({ ok: true, content, structured: [1] }, definition, false)).toEqual({ content })
    expect(toCallResult({ ok: true, content, structured: [1] }, definition, true)).toEqual({
      content,
      structuredContent: [1],
    })
  })

  test('that is the JSON text of a value has the value too only for clients that know its schema', () => {
    const [structured, json] = [{ a: 1 }, [{ type: 'text' as const, text: '{"a":1}' }]]
    expect(toCallResult({ ok: true, content: json, structured }, definition, true)).toEqual({ content: json })
    expect(toCallResult({ ok: true, content: json, structured }, { ...definition, outputSchema }, true)).toEqual({
      content: json,
      structuredContent: structured,
    })
  })

  test('without the promised value becomes a readable error', () => {
    const promised = { ...definition, outputSchema }
    expect(toCallResult({ ok: true, content }, promised, true)).toEqual({ content, isError: true })
  })

  test('that failed has its message and no details', () => {
    expect(toCallResult(failure('timeout', 'Too late.', 'secret'), definition, true)).toEqual({
      content: [{ type: 'text', text: 'Too late.' }],
      isError: true,
    })
  })
})

test('progress values always increase', () => {
  const noticeOf = progressNotices('token')
  const params = [{ message: 'Begun' }, { fraction: 0.5 }, { fraction: 0.2, message: 'Back' }, { fraction: 1 }].map(
    (news) => toJson(noticeOf(news)),
  )
  const notice = (progress: number, message?: string) => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 'token', progress, total: 1, ...(message && { message }) },
  })
  expect(params).toEqual([notice(0.001, 'Begun'), notice(0.5), notice(0.501, 'Back'), notice(1)])
})
