import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { isObject, parseJson } from '../contract/json.ts'
import { refusesList, sendJson, startLoopbackServer } from './loopback.ts'

export interface RecordedModelOptions {
  /** The file with the recorded requests and answers, one line of JSON for each. */
  readonly file: string
  /** `replay` answers from the file and asks nobody; `record` asks the provider and replaces the file. */
  readonly mode: 'replay' | 'record'
  /** The base URL of the provider, such as `https://api.openai.com/v1`. Needed to record. */
  readonly provider?: string
  /**
   * Returns what two requests must have in common to be the same. By default all of the body, except that ids that the
   * edge makes for each run are numbered.
   */
  readonly comparable?: (body: unknown) => unknown
}

export interface RecordedModel {
  /** The base URL to give to the edge, such as in `OPENAI_BASE_URL`. */
  readonly baseUrl: string
  /** What went wrong: each request that has no recorded answer, with the first difference. */
  readonly problems: readonly string[]
  /** Rejects with the first problem, if there was one. */
  close(): Promise<void>
}

/** A line of the file. Neither has headers of the request, which may hold keys. */
interface Recording {
  readonly path: string
  readonly body: unknown
  readonly status: number
  readonly type: string
  readonly answer: string
}

/**
 * Starts a server between an edge and the provider of its model, on a free port of 127.0.0.1. In the mode `record` it
 * passes requests on with their keys and records the answers; keys are never recorded. In the mode `replay` it answers
 * from the file: a request gets the first answer, not yet given, to an equal request; any other is refused with 400 and
 * the code `not_recorded`. Works for every provider that is asked over HTTP. Throws an Error if the file is missing or
 * the provider is not named.
 *
 * @example
 * const model = await startRecordedModel({ file: 'test/orders.jsonl', mode: 'replay' })
 * const vars = { AUTH: 'open', MODEL: 'openai/gpt-4.1-mini', OPENAI_BASE_URL: model.baseUrl }
 */
export async function startRecordedModel(options: RecordedModelOptions): Promise<RecordedModel> {
  const { mode, comparable = numberIds } = options
  const problems: string[] = []
  const answer = mode === 'record' ? recorder(options) : replayer(readRecordings(options.file), comparable)
  const server = await startLoopbackServer(async (request, response) => {
    if (refusesList(request, response)) return
    const problem = await answer(request, response)
    if (problem === undefined) return
    problems.push(problem)
    sendJson(response, { error: { message: problem, type: 'invalid_request_error', code: 'not_recorded' } }, 400)
  })
  return {
    baseUrl: server.url,
    problems,
    close: async () => {
      await server.close()
      if (problems[0] !== undefined) throw new Error(problems[0])
    },
  }
}

type Answerer = (request: IncomingMessage, response: ServerResponse) => Promise<string | undefined>

function replayer(recordings: readonly Recording[], comparable: (body: unknown) => unknown): Answerer {
  const remaining = [...recordings]
  let number = 0
  return async (request, response) => {
    number += 1
    const path = pathOf(request)
    const body = comparable(parseJson(await text(request)))
    const index = remaining.findIndex((each) => each.path === path && isDeepStrictEqual(comparable(each.body), body))
    const [recording] = index < 0 ? [] : remaining.splice(index, 1)
    if (!recording) return mismatch(number, { path, body }, remaining, comparable)
    response.writeHead(recording.status, { 'content-type': recording.type, connection: 'close' })
    response.end(recording.answer)
    return undefined
  }
}

function mismatch(
  number: number,
  { path, body }: { readonly path: string; readonly body: unknown },
  [next]: readonly Recording[],
  comparable: (body: unknown) => unknown,
): string {
  const what = `Request ${number}, to ${path}, has no recorded answer`
  if (!next) return `${what}: all recorded answers have been given. Record again.`
  if (next.path !== path) return `${what}: the next one was to ${next.path}. Record again.`
  const place = difference(comparable(next.body), body)
  return `${what}: it differs from the next recorded one at ${place}. Record again, or leave that out in \`comparable\`.`
}

/** Returns where two values differ first, as a JSON Pointer with both values. */
function difference(recorded: unknown, actual: unknown, pointer = ''): string {
  const areBoth = (is: (value: unknown) => boolean) => is(recorded) && is(actual)
  if (areBoth(isObject) || areBoth(Array.isArray)) {
    const [before, now] = [Object(recorded), Object(actual)]
    const key = [...new Set([...Object.keys(before), ...Object.keys(now)])].find(
      (name) => !isDeepStrictEqual(before[name], now[name]),
    )
    if (key !== undefined) return difference(before[key], now[key], `${pointer}/${key}`)
  }
  return `${pointer || '/'} (${shortened(actual)} instead of ${shortened(recorded)})`
}

function shortened(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing'
  return json.length > 80 ? `${json.slice(0, 80)}…` : json
}

function recorder({ file, provider }: RecordedModelOptions): Answerer {
  if (provider === undefined) throw new Error('To record, name the base URL of the provider as `provider`.')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
  return async (request, response) => {
    const body = await text(request)
    const reply = await fetch(`${provider}${request.url ?? ''}`, {
      method: request.method ?? 'POST',
      headers: passedOn(request.headers),
      // The key goes to the configured provider alone.
      redirect: 'manual',
      ...(body !== '' && { body }),
    })
    const answer = await reply.text()
    const type = reply.headers.get('content-type') ?? 'application/json'
    const secrets = secretsOf(request)
    const recording: Recording = {
      path: pathOf(request),
      body: parseJson(without(secrets, body)),
      status: reply.status,
      type,
      answer: without(secrets, answer),
    }
    appendFileSync(file, `${JSON.stringify(recording)}\n`)
    response.writeHead(reply.status, { 'content-type': type, connection: 'close' })
    response.end(answer)
    return undefined
  }
}

/** Headers of this connection alone, and the encodings, which would have to be recorded with the answer. */
const OWN_HEADERS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'])

function passedOn(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}

const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']
const KEY_PARAMETERS = ['key', 'api-key', 'api_key', 'access_token']

/** Returns the keys that a request carries. */
function secretsOf(request: IncomingMessage): string[] {
  const inHeaders = KEY_HEADERS.map((name) => String(request.headers[name] ?? '').replace(/^Bearer /i, ''))
  const { searchParams } = urlOf(request)
  return [...inHeaders, ...KEY_PARAMETERS.map((name) => searchParams.get(name) ?? '')].filter((each) => each !== '')
}

function without(secrets: readonly string[], content: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[key]'), content)
}

/** Returns the path and the query of a request, without keys. */
function pathOf(request: IncomingMessage): string {
  const { pathname, searchParams } = urlOf(request)
  for (const name of KEY_PARAMETERS) searchParams.delete(name)
  return searchParams.size > 0 ? `${pathname}?${searchParams.toString()}` : pathname
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  return new URL(url, 'http://127.0.0.1')
}

function readRecordings(file: string): Recording[] {
  if (!existsSync(file)) throw new Error(`There is no ${file}: record it first, with mode: 'record'.`)
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    if (line === '') return []
    const recording = parseJson(line)
    if (!isRecording(recording)) throw new Error(`${file}:${index + 1} is not a recorded answer.`)
    return [recording]
  })
}

function isRecording(value: unknown): value is Recording {
  const texts = isObject(value) && [value.path, value.type, value.answer]
  return Array.isArray(texts) && texts.every((each) => typeof each === 'string')
}

/** Replaces each id that an edge makes at random by its number, in the order in which the ids occur in the body. */
function numberIds(body: unknown): unknown {
  const numbers = new Map<string, number>()
  const numbered = JSON.stringify(body ?? null).replaceAll(
    /\b(call|run|conv|resp|msg)_([A-Za-z0-9]{22})(?=_|\b)/g,
    (_, kind: string, id: string) => {
      if (!numbers.has(id)) numbers.set(id, numbers.size + 1)
      return `${kind}_${numbers.get(id)}`
    },
  )
  return JSON.parse(numbered)
}

/** Copies the plain data of an answer over RPC, which comes with functions to release it. */
export function copied<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value))
}

/** An answer over RPC, or why there is none. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reason: string }

/** Waits for an answer, and no longer than `limitMs`. */
export async function settled<Value>(answer: PromiseLike<Value>, limitMs: number): Promise<Settled<Value>> {
  const timer = new AbortController()
  const timeLimit = sleep(limitMs, undefined, { signal: timer.signal, ref: false }).then(
    () => ({ ok: false as const, reason: `no answer within ${limitMs / 1000} s` }),
    () => ({ ok: false as const, reason: '' }),
  )
  const result = await Promise.race([settledAnswer(answer), timeLimit])
  timer.abort()
  return result
}

async function settledAnswer<Value>(answer: PromiseLike<Value>): Promise<Settled<Value>> {
  try {
    return { ok: true, value: copied(await answer) }
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) }
  }
}
