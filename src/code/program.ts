import { isObject, parseJson } from '../contract/json.ts'
import { isOutage, messageOf } from '../contract/thrown.ts'
import { type ProgramAsk, type ProgramCalls, type ProgramRelease, ProgramStopped } from '../contract/program.ts'
import { pause, within } from '../contract/time-limit.ts'
import type { Content } from '../contract/message.ts'
import { failure, type ToolFailure, type ToolOutcome } from '../contract/tool.ts'
import { findImport, type CodeLoader, SANDBOX } from './sandbox.ts'
import { LINES_BEFORE, programModules } from './kit.ts'
import { findLongLiteral, type LongLiteral } from './long-literals.ts'

/** The most characters of a program. */
export const MOST_CODE = 65_536
/** The longest time that a program may compute without waiting for an answer, in milliseconds. */
const MOST_TURN_MS = 10_000
/** How long a program that is over has to close its lines, in milliseconds, before its request is aborted. */
const END_MS = 1000
/** The most characters of a line: what a program asks for at once, or what it returns. */
const MOST_LINE = 8 * 1024 * 1024
/** How often a program may look up tools in a pass, and the most characters of what it is told of them in all. */
const MOST_LOOKUPS = 100
const MOST_LOOKUP_TEXT = 1024 * 1024
/** The most characters of the text about an error. */
const MOST_ERROR = 4000
const LIMITS = { cpuMs: 10_000, subRequests: 1 }

/** Answers what a program asks about the tools on offer. Never rejects. */
export interface Lookups {
  describe(names: readonly string[]): Promise<string>
  search(question: string): Promise<string>
}

export interface ProgramHost {
  readonly loader: CodeLoader
  readonly calls: ProgramCalls
  readonly lookups: Lookups
  /** Aborts when the program is to end. */
  readonly signal: AbortSignal
}

/** The failure of a pass that stopped because the run will run the program again later, or has ended. */
export const SUSPENDED = failure('suspended', 'The program waits.')

/**
 * Runs a program, from its start until it ends or must wait, in an isolate of its own that ends with this pass. Never
 * rejects: what the program throws is a failure with the line of the code.
 */
export async function runProgram(code: string, host: ProgramHost): Promise<ToolOutcome> {
  const refusal = host.calls.isResumed ? undefined : refusalOf(code)
  if (refusal) return refusal
  const end = new AbortController()
  const signal = AbortSignal.any([end.signal, host.signal])
  try {
    return await pass(code, { ...host, signal })
  } catch (error) {
    if (host.signal.aborted) return SUSPENDED
    if (error instanceof ProgramStopped) return failure(error.code, error.message)
    return failedProgram(code, error)
  } finally {
    end.abort(new Error('the program has ended'))
  }
}

/** Returns why code must not run; undefined if it may. */
function refusalOf(code: string): ToolFailure | undefined {
  if (code.length > MOST_CODE)
    return failure('invalid_arguments', `The code is longer than ${MOST_CODE} characters. Make it shorter.`)
  const long = findLongLiteral(code)
  if (long) return failure('invalid_arguments', textAboutLong(code, long))
  const statement = findImport(code)
  if (statement === undefined) return undefined
  const message = `The code cannot import anything, and has "${statement}". It has the globals of JavaScript and \`tools\`.`
  return failure('invalid_arguments', message)
}

/** Tells a model what to write in the place of a number that JavaScript would round. */
function textAboutLong(code: string, { text, at }: LongLiteral): string {
  const other = /^0x|^[^.e]*$/i.test(text) ? `as a BigInt, ${text}n` : 'with fewer digits'
  const line = code.slice(0, at).split('\n').length
  return `The code cannot be run: JavaScript makes ${Number(text.replaceAll('_', ''))} of the number ${text}. Write it as a text, "${text}", or ${other}.${sourceOf(code, line)}`
}

async function pass(code: string, { loader, calls, lookups, signal }: ProgramHost): Promise<ToolOutcome> {
  const worker = loader.load({
    ...SANDBOX,
    mainModule: 'main.js',
    modules: { ...SANDBOX.modules, ...programModules(code) },
    globalOutbound: null,
    limits: LIMITS,
  })
  const toProgram = new TransformStream<Uint8Array, Uint8Array>()
  const writer = toProgram.writable.getWriter()
  const encoder = new TextEncoder()
  // Resolves when the program reads on; it is not awaited, since a program that is stopped never does.
  const write = (line: object) => writer.write(encoder.encode(`${JSON.stringify(line)}\n`)).catch(() => {})
  const response = worker
    .getEntrypoint()
    .fetch('https://program/', { method: 'POST', body: toProgram.readable, signal })
  void write({ at: calls.startedAt, seed: seedOf(calls.seed) })
  const lines = linesOf((await response).body ?? new ReadableStream())
  // The runtime logs the abort of a request that is under way as an error.
  const finish = async () => {
    void writer.close().catch(() => {})
    await within(END_MS, lines.skipRest(), undefined).catch(() => {})
  }
  let lookupCount = 0
  let lookupText = 0
  for (;;) {
    signal.throwIfAborted()
    const turn = await within<Turn | 'late'>(MOST_TURN_MS, lines.next(), 'late')
    if (turn === 'late') {
      const message = `The program computed for more than ${MOST_TURN_MS / 1000} s without a call, and was stopped.`
      throw new ProgramStopped('program_too_slow', message)
    }
    if (turn.asks.length > 0) calls.ask(turn.asks)
    if (turn.end) {
      await finish()
      return outcomeOf(code, turn.end)
    }
    if (turn.lookups.length > 0) {
      const first = lookupCount
      lookupCount += turn.lookups.length
      if (lookupCount > MOST_LOOKUPS) throw new ProgramStopped('limit', TOO_MANY_LOOKUPS)
      const answers: { readonly ask: string; readonly at: number; readonly value: string }[] = []
      for (const [index, lookup] of turn.lookups.entries()) {
        const value = await answer(lookups, lookup)
        lookupText += value.length
        if (lookupText > MOST_LOOKUP_TEXT) throw new ProgramStopped('limit', TOO_MANY_LOOKUPS)
        answers.push({ ask: `look ${first + index}`, at: 0, value })
      }
      void write({ answers, releases: [] })
      // Lookups wait for nothing: without this, neither timers nor other requests would have their turn.
      await pause(0)
      continue
    }
    const releases = await calls.next()
    if (!releases) {
      await finish()
      return SUSPENDED
    }
    if (releases.length === 0) {
      const message = 'The program waits for something that never comes: no call and no timer of it is open.'
      throw new ProgramStopped('program_hung', message)
    }
    void write({ answers: [], releases: releases satisfies readonly ProgramRelease[] })
  }
}

const TOO_MANY_LOOKUPS = `The program looked up tools more than ${MOST_LOOKUPS} times, or was told more than ${MOST_LOOKUP_TEXT} characters of them, and was stopped. Look up once the tools that are needed.`

function answer(lookups: Lookups, lookup: Lookup): Promise<string> {
  return lookup.do === 'describe' ? lookups.describe(lookup.names) : lookups.search(lookup.question)
}

/** Returns four numbers that a text determines. */
function seedOf(text: string): readonly number[] {
  return [0, 1, 2, 3].map((salt) => {
    let hash = 0x811c9dc5 ^ salt
    for (const char of text) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
    return hash
  })
}

type Lookup =
  | { readonly do: 'describe'; readonly names: readonly string[] }
  | { readonly do: 'search'; readonly question: string }

/** What a program has done until it could do nothing more. */
interface Turn {
  readonly asks: readonly ProgramAsk[]
  readonly lookups: readonly Lookup[]
  readonly end?: Record<string, unknown>
}

interface Lines {
  /** Rejects if the program breaks the rules of the protocol, or is stopped. */
  next(): Promise<Turn>
  /** Resolves at the end of the lines. */
  skipRest(): Promise<void>
}

/** Reads the lines of a program. It is not trusted to be the kit that writes them. */
function linesOf(body: ReadableStream<Uint8Array>): Lines {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  /** The pieces of the line under way, and how long they are. */
  let pieces: string[] = []
  let size = 0
  let rest = ''
  return {
    next: async () => {
      for (;;) {
        const end = rest.indexOf('\n')
        if (end >= 0) {
          const line = [...pieces, rest.slice(0, end)].join('')
          rest = rest.slice(end + 1)
          pieces = []
          size = 0
          return turnOf(parseJson(line))
        }
        pieces.push(rest)
        size += rest.length
        if (size > MOST_LINE) {
          const message = `The program returned, or sent with its calls, more than ${MOST_LINE} characters. Return less.`
          throw new ProgramStopped('result_too_large', message)
        }
        const { done, value } = await reader.read()
        if (done) throw new ProgramStopped('program_failed', 'The program broke off.')
        rest = decoder.decode(value, { stream: true })
      }
    },
    skipRest: async () => {
      while (!(await reader.read()).done);
    },
  }
}

function turnOf(line: unknown): Turn {
  const { asks, lookups, end } = isObject(line) ? line : {}
  return {
    asks: Array.isArray(asks) ? asks.flatMap(readAsks) : [],
    lookups: Array.isArray(lookups) ? lookups.flatMap(readLookups) : [],
    ...(isObject(end) && { end }),
  }
}

function readAsks(value: unknown): readonly ProgramAsk[] {
  if (!isObject(value)) return []
  const { do: what, tool, arguments: text, ms } = value
  if (what === 'wait' && typeof ms === 'number') return [{ do: what, ms }]
  return what === 'call' && typeof tool === 'string' && typeof text === 'string'
    ? [{ do: what, tool, arguments: text }]
    : []
}

function readLookups(value: unknown): readonly Lookup[] {
  if (!isObject(value)) return []
  const { do: what, names, question } = value
  if (what === 'describe' && Array.isArray(names)) return [{ do: what, names: names.map(String) }]
  return what === 'search' && typeof question === 'string' ? [{ do: what, question }] : []
}

const NOTHING =
  'The program returned nothing and printed nothing. `code` is the body of a function: `return` or print what you want to read.'

/** Makes the outcome of a program that has ended: what it returned, and then what it printed. */
function outcomeOf(
  code: string,
  { json, isText, unusable, thrown, printed, printedSize }: Record<string, unknown>,
): ToolOutcome {
  const lines = Array.isArray(printed) ? printed.map(String) : []
  const size = typeof printedSize === 'number' ? printedSize : 0
  const printedText = lines.join('\n')
  const cut = size > printedText.length + 1 ? `\n[${size} characters were printed; the rest is left out]` : ''
  const output = printedText === '' ? '' : `Printed:\n${printedText}${cut}`
  if (isObject(thrown)) {
    const message = textOfThrown(code, thrown)
    return failure('program_failed', [message, output].filter((part) => part !== '').join('\n'))
  }
  if (typeof unusable === 'string')
    return failure('program_failed', `The program returned a value that cannot be written as JSON: ${unusable}`)
  const value = typeof json === 'string' ? parseJson(json) : undefined
  const text = isText === true ? value : json
  const returned = value !== undefined && typeof text === 'string' ? text : ''
  const parts = [returned, output].filter((part) => part !== '')
  if (parts.length === 0) parts.push(NOTHING)
  const content = parts.map((part): Content => ({ type: 'text', text: part }))
  return { ok: true, content, ...(isObject(value) && { structured: value }) }
}

/** Returns a text about what a program threw, with the line of the code. */
function textOfThrown(code: string, { name, message, stack, code: errorCode, cause }: Record<string, unknown>): string {
  const what = [name, message].filter((part) => typeof part === 'string' && part !== '').join(': ')
  const tag = typeof errorCode === 'string' ? ` [${errorCode}]` : ''
  const because = typeof cause === 'string' ? `\nCaused by: ${cause}` : ''
  return `The program failed: ${what.slice(0, MOST_ERROR)}${tag}${placeIn(code, String(stack))}${because.slice(0, MOST_ERROR)}`
}

/** Matches a place in the module of a program. */
const PLACE = /program\.js:(\d+)(?::(\d+))?/

/** Returns the line of the code that a text of the runtime names, with its source; empty if it names none. */
function placeIn(code: string, text: string): string {
  const [, moduleLine] = PLACE.exec(text) ?? []
  return sourceOf(code, Number(moduleLine) - LINES_BEFORE)
}

function sourceOf(code: string, line: number): string {
  const source = code.split('\n')[line - 1]
  return source === undefined ? '' : `\nLine ${line}: ${source.trim().slice(0, 200)}`
}

/** Makes the failure of a program that the runtime has not started, or has stopped. */
function failedProgram(code: string, error: unknown): ToolFailure {
  const text = messageOf(error)
  const [, problem] = /Uncaught (SyntaxError: [^]*?)(?:\n\s+at |$)/.exec(text) ?? []
  if (problem !== undefined)
    return failure('invalid_arguments', `The code cannot be run: ${problem.trim()}${placeIn(code, text)}`)
  const why = isOutage(error) ? 'the runtime stopped it. It may take too much time or memory' : 'the runtime failed'
  return failure('program_failed', `The program was stopped: ${why}.`, text)
}
