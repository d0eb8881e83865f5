import type { ExecuteOptions } from '../contract/hook.ts'
import {
  failure,
  type Progress,
  type Tool,
  type ToolFailure,
  type ToolOutcome,
  type ToolRequest,
} from '../contract/tool.ts'
import { LONGEST_TIMER_MS } from '../contract/time-limit.ts'
import { truncateOutcome } from './truncate.ts'
import { textOfThrown } from '../contract/thrown.ts'
import { isDeeper, isObject, MOST_LEVELS, parseJson } from '../contract/json.ts'
import { parseExactly } from '../contract/exact-numbers.ts'
import { editDistance } from '../contract/edit-distance.ts'
import { mendJson } from '../schema/mend-json.ts'

/**
 * Performs one call and waits for its outcome, until its time is up or the run is aborted. The host cannot stop a call:
 * it notifies the tool through its control, and passes a later outcome to `onLate`. Contract: never rejects.
 */
export async function execute(tool: Tool, request: ToolRequest, options: ExecuteOptions): Promise<ToolOutcome> {
  const { definition } = tool
  const timeoutMs = Math.min(definition.timeoutMs ?? Infinity, options.timeoutMs)
  const stop = Promise.withResolvers<string>()
  const stoppedOutcome = Promise.withResolvers<ToolOutcome>()
  const stopWaiting = (reason: string, outcome: ToolOutcome) => {
    stop.resolve(reason)
    stoppedOutcome.resolve(outcome)
  }
  const onAbort = () => stopWaiting('cancelled', CANCELLED)
  const expire = () => stopWaiting('timeout', timedOut(definition.name, timeoutMs))
  const timer = setTimeout(expire, Math.min(timeoutMs, LONGEST_TIMER_MS))
  options.signal.addEventListener('abort', onAbort, { once: true })
  if (options.signal.aborted) onAbort()
  let isOpen = true
  try {
    const control = {
      whenAborted: () => stop.promise,
      progress: async (progress: Progress) => {
        if (isOpen) options.progress(progressOf(progress))
      },
      calls: options.calls,
      ...(options.startRun && tool.startsRuns && { startRun: options.startRun }),
    }
    const callOutcome = attempt(tool, request, control).then((outcome) => {
      if (!isOpen) options.onLate?.(outcome)
      return outcome
    })
    const outcome = await Promise.race([stoppedOutcome.promise, callOutcome])
    return truncateOutcome(outcome, options.resultBytes)
  } finally {
    isOpen = false
    // A tool that still awaits `whenAborted` keeps this object in memory until the promise is resolved.
    stop.resolve('settled')
    clearTimeout(timer)
    options.signal.removeEventListener('abort', onAbort)
  }
}

/** Copies the known fields of a progress report, and only those: the report becomes an event of the run. */
function progressOf({ message, fraction, data }: Progress): Progress {
  return {
    ...(typeof message === 'string' && { message }),
    ...(typeof fraction === 'number' && { fraction }),
    ...(data !== undefined && { data }),
  }
}

async function attempt(tool: Tool, request: ToolRequest, control: Parameters<Tool['call']>[1]): Promise<ToolOutcome> {
  try {
    return await tool.call(request, control)
  } catch (error) {
    return failure('tool_failed', `The tool "${request.name}" failed.`, textOfThrown(error))
  }
}

const CANCELLED = failure('cancelled', 'The run was stopped while this call ran; whether it took effect is unknown.')

function timedOut(name: string, timeoutMs: number): ToolOutcome {
  return failure(
    'timeout',
    `The tool "${name}" did not answer within ${timeoutMs} ms; whether it took effect is unknown.`,
  )
}

export type ParsedArguments = { readonly ok: true; readonly value: Readonly<Record<string, unknown>> } | ToolFailure

/**
 * Parses the arguments that a model wrote into an object. An empty text, `null` and `""` stand for no arguments, and an
 * object may come as a string of JSON. An object in a code fence, after prose, or with the marks of Python or JavaScript is
 * mended (`mendJson`); a text that was cut off never is. A number that JavaScript cannot hold, such as
 * an integer beyond 2^53 that it would round, is kept as its text: a tool made with `defineTool` converts it as its
 * schema asks, and any other tool sees a string, never a different number.
 */
export function parseArguments(tool: string, text: string): ParsedArguments {
  if (text.trim() === '') return { ok: true, value: {} }
  try {
    const value = parseBounded(text)
    const parsed = value === null || value === '' ? {} : unwrapText(value)
    if (isObject(parsed)) return { ok: true, value: parsed }
    return refusal(tool, `received ${Array.isArray(value) ? 'an array' : JSON.stringify(value)}`)
  } catch (error) {
    return refusal(tool, error instanceof Error ? error.message : String(error))
  }
}

/** Parses a string that holds a JSON object; returns any other value as it is. */
function unwrapText(value: unknown): unknown {
  return typeof value === 'string' && value.trim().startsWith('{') ? parseBounded(value) : value
}

function parseBounded(text: string): unknown {
  // `parseExactly` and `mendJson` recurse, unlike the engine's parser.
  if (isDeeper(parseJson(text), MOST_LEVELS)) throw new RangeError(`nested over ${MOST_LEVELS} levels deep`)
  try {
    return parseExactly(text)
  } catch (error) {
    const mended = mendJson(text)
    if (mended === undefined) throw error
    return mended
  }
}

function refusal(tool: string, reason: string): ToolFailure {
  return failure(
    'invalid_arguments',
    `The arguments of "${tool}" are not a JSON object: ${reason}. Send one JSON object that fits its schema.`,
  )
}

const MAX_SUGGESTIONS = 3

/** Returns the result of a call to a tool that is not on offer: it says so, and suggests the nearest names. */
export function unknownTool(name: string, names: readonly string[]): ToolFailure {
  const fault = name === '' ? 'The call names no tool' : `There is no tool "${name}"`
  if (names.length === 0) return failure('unknown_tool', `${fault}: no tools are on offer.`)
  const suggestions = nearest(name, names).map((candidate) => `"${candidate}"`)
  return failure('unknown_tool', `${fault}. Call one that is on offer, such as ${suggestions.join(', ')}.`)
}

/** The most characters of a name that count. */
const MOST_CHARACTERS = 64
/** The most pairs of characters that are compared: those of some 50 pairs of long names. */
const MOST_PAIRS = 200_000

/** Returns the names with the fewest edits from a name. Of many long ones, those that differ least in length count. */
function nearest(name: string, names: readonly string[]): string[] {
  const length = Math.min(name.length, MOST_CHARACTERS)
  const lengthOf = (candidate: string) => Math.min(candidate.length, MOST_CHARACTERS)
  const text = name.slice(0, MOST_CHARACTERS).toLowerCase()
  const candidates = names
    .map((candidate) => ({ candidate, least: Math.abs(lengthOf(candidate) - length) }))
    .sort((a, b) => a.least - b.least)
  let pairsLeft = MOST_PAIRS
  const compared = candidates.flatMap(({ candidate }) => {
    pairsLeft -= (length + 1) * (lengthOf(candidate) + 1)
    if (pairsLeft < 0) return []
    return [{ candidate, distance: editDistance(text, candidate.slice(0, MOST_CHARACTERS).toLowerCase()) }]
  })
  return compared
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ candidate }) => candidate)
}
