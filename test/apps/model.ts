import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { isObject } from '../../src/contract/json.ts'
import { chunksOf, type Speech } from '../fixtures/model-server.ts'
import { responsesEvents } from '../fixtures/responses-events.ts'

/** A message of a request to the model, whatever the protocol: its text, and the names of the tools that it calls. */
export interface Turn {
  readonly role: string
  readonly text: string
  readonly calls: readonly string[]
}

/** What the model is asked, whatever the protocol. */
export interface Question {
  readonly protocol: Protocol
  /** As the model counts them. A count that stays the same while the prompt grows would be that of a full window. */
  readonly inputTokens: number
  /** Instructions first, where the protocol has them apart. */
  readonly turns: readonly Turn[]
  readonly tools: readonly string[]
}

export type Protocol = 'chat' | 'responses' | 'messages'

/** What the model does: it says something, refuses with a status, or says something and breaks the connection. */
export type Answer = (Speech & { readonly isCut?: boolean }) | { readonly status: number }

export interface AppsModel {
  /** Ends in `/v1`. */
  readonly baseUrl: string
  /** What was asked since the script was given. */
  readonly questions: readonly Question[]
  script(answer: (question: Question) => Answer): void
  close(): Promise<void>
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
}

/** Starts a model that speaks the protocols of three providers, and answers by what it is asked. */
export async function startAppsModel(): Promise<AppsModel> {
  let questions: Question[] = []
  let answer: (question: Question) => Answer = () => ({ status: 400 })
  const server = createServer((request, response) => {
    const protocol = PROTOCOLS[request.url ?? '']
    if (!protocol) return void response.writeHead(404).end()
    textOf(request)
      .then((body) => {
        const each = readQuestion(protocol, JSON.parse(body))
        questions.push(each)
        send(response, each, answer(each))
      })
      .catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    get questions() {
      return questions
    },
    script: (next) => {
      questions = []
      answer = next
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise<unknown>((resolve) => server.close(resolve))
    },
  }
}

function readQuestion(protocol: Protocol, body: Readonly<Record<string, unknown>>): Question {
  const tools = arrayOf(body['tools']).map(({ name, function: of }) => String(isObject(of) ? of['name'] : name))
  const system = body['system'] ?? body['instructions']
  const head = system === undefined ? [] : [{ role: 'system', text: flat(system), calls: [] }]
  const items =
    body['messages'] ?? (typeof body['input'] === 'string' ? [{ role: 'user', content: body['input'] }] : body['input'])
  return {
    protocol,
    inputTokens: Math.ceil(JSON.stringify(body).length / 4),
    tools,
    turns: [...head, ...arrayOf(items).map(readTurn)],
  }
}

function readTurn(item: Readonly<Record<string, unknown>>): Turn {
  const { role, type, name, content, output, tool_calls: toolCalls } = item
  if (type === 'function_call' || type === 'custom_tool_call')
    return { role: 'assistant', text: '', calls: [String(name)] }
  if (type === 'function_call_output') return { role: 'tool', text: flat(output), calls: [] }
  const functionCalls = arrayOf(toolCalls).map(({ function: of }) => (isObject(of) ? String(of['name']) : ''))
  const toolUses = arrayOf(content).flatMap((block) => (block['type'] === 'tool_use' ? [String(block['name'])] : []))
  const isResult = arrayOf(content).some((block) => block['type'] === 'tool_result')
  return { role: isResult ? 'tool' : String(role), text: flat(content), calls: [...functionCalls, ...toolUses] }
}

function arrayOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** All texts of a content, whose parts may be nested. */
function flat(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(flat).join('\n')
  return isObject(content) ? flat(content['text'] ?? content['content'] ?? '') : ''
}

function send(response: ServerResponse, { protocol, inputTokens }: Question, answer: Answer): void {
  if ('status' in answer) {
    const error = { type: answer.status === 529 ? 'overloaded_error' : 'rate_limit_error', message: 'Overloaded' }
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ type: 'error', error }))
  }
  const { isCut = false, ...speech } = answer
  const frames = framesOf(protocol, { usage: { inputTokens, outputTokens: 50 }, ...speech })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const part = isCut ? frames.slice(0, Math.ceil(frames.length / 2)) : frames
  for (const frame of part) response.write(frame)
  if (isCut) setTimeout(() => response.destroy(), 50)
  else response.end()
}

function framesOf(protocol: Protocol, speech: Speech): string[] {
  if (protocol === 'responses') return responsesEvents(speech)
  if (protocol === 'messages') return messagesEvents(speech)
  return [...chunksOf(speech).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n']
}

/** An answer as the Messages API streams it. */
function messagesEvents({ reasoning, text, calls = [], usage }: Speech): string[] {
  const blocks = [
    ...(reasoning === undefined
      ? []
      : [
          [
            { type: 'thinking', thinking: '', signature: '' },
            [
              { type: 'thinking_delta', thinking: reasoning },
              { type: 'signature_delta', signature: 'c2lnbmVk' },
            ],
          ],
        ]),
    ...(text === undefined
      ? []
      : [
          [
            { type: 'text', text: '' },
            (text.match(/\S+\s*/g) ?? []).map((word) => ({ type: 'text_delta', text: word })),
          ],
        ]),
    ...calls.map(({ tool, arguments: args }, index) => [
      { type: 'tool_use', id: `toolu_${Date.now()}_${index}`, name: tool, input: {} },
      [args.slice(0, 9), args.slice(9)].map((part) => ({ type: 'input_json_delta', partial_json: part })),
    ]),
  ] as [object, object[]][]
  const message = { id: 'msg_scripted', type: 'message', role: 'assistant', model: 'scripted', content: [] }
  const start = { input_tokens: usage?.inputTokens ?? 0, output_tokens: 1 }
  const stop = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null }
  const events = [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage: start } },
    ...blocks.flatMap(([block, deltas], index) => [
      { type: 'content_block_start', index, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: stop, usage: { output_tokens: usage?.outputTokens ?? 0 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}
