import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A Chat Completions server for the bench, run as a process of its own; it prints its port. What it answers depends on the
 * request alone. The name of the model says what:
 *
 * - `answer-8`: a text of 8 tokens;
 * - `steps-10`: calls `squareRoot` ten times, one call in each answer, then a text;
 * - `parallel-8`: calls `wait` for 50 ms eight times in one answer, then a text;
 * - `roots-10`: calls `squareRoot` ten times in one answer, then a text;
 * - `program-10`: calls `run_code` once, with a program that calls `squareRoot` ten times at once, then a text;
 * - `argument-2000`: calls `note` with an argument that is streamed in 2,000 parts, then a text;
 * - `search-1`: calls `tool_search` once, then a text;
 * - `paced-30`: a text of 30 tokens, one every 5 ms. The first one is the time at which it was written, in nanoseconds of
 *   the monotonic clock, so that another process can tell how long it was under way.
 */
const PACE_MS = 5
/** Events in one write: a burst, as fast models are received. */
const BURST = 8
const LAST_TEXT_TOKENS = 8

export const SEARCH = { query: 'refund the payment of an order in stripe' }

type Part = object

const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const body = Buffer.concat(pieces).toString()
    // Bodies may be large, and all subjects write them with JSON.stringify: searching is cheaper than parsing.
    const [, kind = '', count = '0'] = /"model":"([a-z]+)-(\d+)"/.exec(body) ?? []
    const results = body.slice(body.lastIndexOf('"role":"user"')).split('"role":"tool"').length - 1
    const isStreamed = /"stream":\s*true/.test(body)
    if (kind === 'paced') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      pace(Number(count))
      return
    }
    const { bursts, whole } = answerOf(kind, Number(count), results)
    response.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' })
    if (isStreamed) for (const burst of bursts) response.write(burst)
    response.end(isStreamed ? undefined : whole)
  })

  /** Streams a text token by token. */
  function pace(tokens: number): void {
    response.write(chunk({ role: 'assistant', content: '' }) + chunk({ content: `<${process.hrtime.bigint()}>` }))
    let written = 1
    const timer = setInterval(() => {
      if (written++ < tokens) return void response.write(chunk({ content: `word${written % 10} ` }))
      clearInterval(timer)
      response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
    }, PACE_MS)
  }
})

interface ScriptedAnswer {
  /** The events of the streamed answer, some to a write. */
  readonly bursts: readonly Buffer[]
  /** The answer that is not streamed. */
  readonly whole: Buffer
}

const answers = new Map<string, ScriptedAnswer>()

/** Returns an answer; made once, so that the server's own cost is small and always the same. */
function answerOf(kind: string, count: number, results: number): ScriptedAnswer {
  const key = `${kind}-${count}-${results}`
  const reply = answers.get(key)
  if (reply) return reply
  const encodedReply = encode(kind, count, results)
  answers.set(key, encodedReply)
  return encodedReply
}

function encode(kind: string, count: number, results: number): ScriptedAnswer {
  const isText = kind === 'answer' || results >= (kind === 'steps' ? count : 1)
  const tokens = Array.from({ length: kind === 'answer' ? count : LAST_TEXT_TOKENS }, (_, at) => `word${at % 10} `)
  const calls = isText ? [] : callsOf(kind, count, results)
  const finish = isText ? 'stop' : 'tool_calls'
  const parts = isText ? tokens.map((content) => ({ content })) : calls.flatMap(partsOfCall)
  const chunks = [chunk({ role: 'assistant', content: '' }), ...parts.map((part) => chunk(part)), chunk({}, finish)]
  const lines = [...chunks, 'data: [DONE]\n\n']
  const bursts: Buffer[] = []
  for (let at = 0; at < lines.length; at += BURST) bursts.push(Buffer.from(lines.slice(at, at + BURST).join('')))
  const message = isText
    ? { role: 'assistant', content: tokens.join('') }
    : {
        role: 'assistant',
        content: null,
        tool_calls: calls.map(({ id, name, fragments }) => {
          return { id, type: 'function', function: { name, arguments: fragments.join('') } }
        }),
      }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const completion = { id: 'x', object: 'chat.completion', created: 1, model: 'm' }
  const choices = [{ index: 0, message, finish_reason: finish }]
  return { bursts, whole: Buffer.from(JSON.stringify({ ...completion, choices, usage })) }
}

interface Call {
  readonly id: string
  readonly name: string
  /** The arguments, as they are streamed. */
  readonly fragments: readonly string[]
}

function callsOf(kind: string, count: number, results: number): readonly Call[] {
  if (kind === 'parallel') {
    return Array.from({ length: count }, (_, at) => ({ id: `w${at}`, name: 'wait', fragments: ['{"ms":50}'] }))
  }
  if (kind === 'roots') {
    return Array.from({ length: count }, (_, at) => ({ id: `r${at}`, name: 'squareRoot', fragments: [rootOf(at)] }))
  }
  if (kind === 'program') {
    const lines = Array.from({ length: count }, (_, at) => `  tools.squareRoot(${rootOf(at)}),\n`)
    const code = `const roots = await Promise.all([\n${lines.join('')}])\nreturn roots`
    return [{ id: 'p0', name: 'run_code', fragments: [JSON.stringify({ code })] }]
  }
  if (kind === 'argument') {
    const words = Array.from({ length: count - 2 }, (_, at) => `w${at % 10} `)
    return [{ id: 'n0', name: 'note', fragments: ['{"text":"', ...words, '"}'] }]
  }
  if (kind === 'search') return [{ id: 's0', name: 'tool_search', fragments: [JSON.stringify(SEARCH)] }]
  return [{ id: `c${results}`, name: 'squareRoot', fragments: [`{"number":${results + 2}}`] }]
}

function rootOf(at: number): string {
  return `{"number":${at + 2}}`
}

function partsOfCall({ id, name, fragments }: Call, index: number): readonly Part[] {
  const begin = { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
  return [begin, ...fragments.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] }))]
}

function chunk(delta: Part, finish: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finish }
  const body = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] }
  return `data: ${JSON.stringify(body)}\n\n`
}

if (import.meta.main) {
  server.keepAliveTimeout = 600_000
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
  // The bench that started it is gone.
  process.stdin.on('end', () => process.exit(0)).resume()
}
