import { fullSurfaces } from '../fixtures/everything.ts'
import type { StepAnswer } from '../../src/contract/hook.ts'
import { type Message, contentText } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import type { RunRecord, RunRequest } from '../../src/contract/run.ts'
import type { Setup } from '../../src/contract/setup.ts'
import type { Tool } from '../../src/contract/tool.ts'
import type { Usage } from '../../src/contract/usage.ts'
import { edge } from '../../src/http/app/edge.ts'
import { executeToolCalls } from '../../src/loop.ts'
import { openai } from '../../src/model/openai.ts'
import { scripted } from '../fixtures/scripted.ts'
import { defineTool } from '../../src/tool.ts'
import type { DefinedTool } from '../../src/tool/define.ts'
import { inlineSource } from '../../src/host/source/inline.ts'
import type { InputSchema } from '../../src/schema/standard-schema.ts'
import type { ChatCompletion, ChatErrorObject } from '../../src/wire/provider/openai-chat/types.ts'
import { testEdge } from '../fixtures/edge.ts'
import { testSetup } from '../fixtures/setup.ts'

export const QUESTION: Message = { role: 'user', content: 'Hello' }

type Edge = Parameters<typeof testEdge>[0]

/** An edge, and what it is asked; `body` says more than the one question. */
export interface Scene extends NonNullable<Edge> {
  readonly body?: Readonly<Record<string, unknown>>
}

/** What a caller of Chat Completions reads, and what the model was asked. */
export async function chat({ body, ...scene }: Scene) {
  const edge = testEdge(scene)
  const response = await edge.ask('/v1/chat/completions', { json: { messages: [QUESTION], ...body } })
  const json = (await response.json()) as ChatCompletion & ChatErrorObject
  const { status, headers } = response
  return { status, headers, json, answer: json.choices?.[0].message.content, requests: edge.requests }
}

/** The same as a stream: its chunks, and the text that they make. */
export async function chatStream({ body, ...scene }: Scene) {
  const edge = testEdge(scene)
  const response = await edge.ask('/v1/chat/completions', { json: { messages: [QUESTION], stream: true, ...body } })
  const chunks = (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line): Chunk => JSON.parse(line.slice('data: '.length)))
  const texts = chunks.flatMap(({ choices }) => choices?.[0]?.delta.content || [])
  return { chunks, texts, requests: edge.requests }
}

/** A chunk, or, at the end of a run that failed, its error. */
interface Chunk extends Partial<ChatErrorObject> {
  readonly choices?: readonly {
    readonly delta: { readonly content?: string; readonly tool_calls?: readonly object[] }
    readonly finish_reason: string | null
  }[]
  readonly usage?: object | null
}

/** What a caller of the native surface reads of a run that is over. */
export async function native({ body, ...scene }: Scene) {
  const edge = testEdge(scene)
  const response = await edge.ask('/runs', { json: { input: 'Hello', ...body } })
  const json = (await response.json()) as RunRecord & {
    code?: string
    detail?: string
    param?: string
    run?: RunRecord
  }
  return { status: response.status, json, requests: edge.requests }
}

/** An edge whose application has put something in the place of a part of its setup. */
export function edgeWith(script: Parameters<typeof scripted>[0], tools: readonly Tool[], setup: Partial<Setup>) {
  const model = scripted(script, 'test/scripted')
  const sceneSetup = { ...testSetup(model, { tools }), ...setup }
  const app = edge(() => sceneSetup, fullSurfaces)
  const run = async (body: object = {}): Promise<RunRecord> => {
    const request = new Request('http://127.0.0.1/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'Hello', ...body }),
    })
    const response = await app.fetch(request, {})
    return (await response.json()) as RunRecord
  }
  return { run, requests: model.requests }
}

/** The Durable Objects of an edge that has none. */
export function nobody(): never {
  throw new Error('This edge has no Durable Objects')
}

/** Tools as their author has them, as the edge has them. */
export async function carried(...tools: readonly DefinedTool[]): Promise<readonly Tool[]> {
  return (await inlineSource(tools, { env: {} }).list()).tools
}

/** What a tool with this input was called with; or what the model reads where it was not. */
export async function parseWith(
  input: InputSchema,
  args: object | string,
  request?: Partial<RunRequest>,
): Promise<unknown> {
  const inputs: unknown[] = []
  const run = (value: unknown) => void inputs.push(value)
  const tools = await carried(defineTool({ name: 'tool', description: 'Tool', input, run }))
  const options = { messages: [QUESTION], tools, ...(request && { request }) }
  const { results } = await executeToolCalls(options, answerWithCalls(['tool', args]))
  return inputs.length > 0 ? inputs[0] : resultsIn(results)[0]
}

/** What is heard of a model server that answers with these chunks, or with one completion. */
export async function eventsOf(answer: readonly object[] | object): Promise<ModelEvent[]> {
  const frames = (chunks: readonly object[]) => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')
  const fetch = async () =>
    Array.isArray(answer)
      ? new Response(`${frames(answer)}data: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } })
      : Response.json(answer)
  const events: ModelEvent[] = []
  const stream = openai({ fetch })('any').stream({ messages: [QUESTION], tools: [] }, new AbortController().signal)
  for await (const event of stream) events.push(event)
  return events
}

/** A call as a model writes it: its arguments as an object, or as the text itself. */
export type CallSpec = [tool: string, args?: object | string]

/** An answer that asks for tools, as `collect` gives it. */
export function answerWithCalls(...calls: readonly CallSpec[]): StepAnswer {
  return {
    text: '',
    calls: calls.map(([tool, args = {}], index) => ({
      callId: `call_${index + 1}`,
      tool,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    })),
    finish: 'tool_calls',
  }
}

/** The question, and calls of these tools that have run since. */
export function after(...tools: readonly string[]): Message[] {
  const calls = tools.map((tool, index) => ({ callId: `earlier_${index + 1}`, tool, arguments: '{}' }))
  const results = calls.map(({ callId, tool }): Message => {
    return { role: 'tool', callId, tool, ok: true, content: [{ type: 'text', text: 'done' }] }
  })
  return [QUESTION, { role: 'assistant', content: '', calls }, ...results]
}

/** The texts of the results among messages. */
export function resultsIn(messages: readonly Message[] = []): string[] {
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => contentText(content))
}

/** The names of the tools that a model was told of. */
export function namesIn(request: ModelRequest | undefined): string[] | undefined {
  return request?.tools.map(({ name }) => name)
}

/** The same in the order of the alphabet, where the order of the tools does not matter. */
export function sortedNamesIn(request: ModelRequest | undefined): string[] | undefined {
  return namesIn(request)?.toSorted()
}

/** The same answer with this usage, or with none. */
export function costing(events: readonly ModelEvent[], usage?: Usage): ModelEvent[] {
  return events.map((event) =>
    event.type === 'finish' ? { type: 'finish', finish: event.finish, ...(usage && { usage }) } : event,
  )
}
