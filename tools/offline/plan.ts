/**
 * Plans the next step of a conversation. Every step settles all parts of the question again from the results so far:
 * while any of them needs a call, the step is those calls; then it is the text of their answers. Several calls are made by
 * a program where that is possible.
 */
import { tell } from './answer.ts'
import { type Candidate, choose } from './choose.ts'
import { fill, type Question } from './fill.ts'
import { askFor, ASKS, lackClock, refuse, refuseForeign } from './language.ts'
import { type Moment, readMoment } from './moment.ts'
import { type Call, callsOf, declaredTools, type Done, programOf, RUN_CODE } from './program.ts'
import { read, type Reading } from './reading.ts'
import { HAN } from './text.ts'
import { type Tool, type ToolDefinition, toolOf } from './tool.ts'

export interface Conversation {
  /** What the user wrote, oldest first; the last is the question. */
  readonly questions: readonly string[]
  /** The answer before the question; `''` if there is none. */
  readonly before: string
  readonly done: readonly Done[]
  readonly tools: readonly ToolDefinition[]
  /** `auto`, `required`, or the name of the tool that must be called. `none` is the same as no tools. */
  readonly choice: string
}

export type Step = { readonly calls: readonly Call[] } | { readonly text: string }

/** A part of a question that a tool fits. */
type Intent = Pick<Question, 'tool' | 'reading' | 'isReply'>

const MOST_CHARACTERS = 2000

export function nextStep({ questions, before, done: calls, tools: definitions, choice }: Conversation): Step {
  const [question = '', ...earlier] = questions.map((text) => text.slice(0, MOST_CHARACTERS)).toReversed()
  const foreign = refuseForeign(question)
  if (foreign !== undefined) return { text: foreign }
  const direct = definitions.filter(({ name }) => name !== RUN_CODE)
  const declared = declaredTools(definitions.find(({ name }) => name === RUN_CODE)?.description ?? '')
  const isDirect = (name: string): boolean => direct.some((each) => each.name === name)
  const all = [...direct, ...declared.filter(({ name }) => !isDirect(name))].map(toolOf)
  const isForced = choice !== 'auto' && choice !== 'required' && choice !== RUN_CODE
  const tools = isForced ? all.filter(({ name }) => name === choice) : all
  const done = calls.flatMap(callsOf)
  const { intents, unfit } = intentsOf(question, earlier, tools, ASKS.test(before))
  const [only] = tools
  if (intents.length === 0 && only && choice !== 'auto') intents.push({ tool: only, reading: read(question) })
  const settled = intents.map((intent) => settle(intent, done, all))
  const needed = settled.filter((next) => typeof next !== 'string')
  const fresh = needed.filter((call, at) => !needed.slice(0, at).some((other) => isSame(other, call)))
  if (fresh.length > 0) {
    const programmable = fresh.filter(({ tool }) => declared.some(({ name }) => name === tool))
    const isProgram =
      programmable.length > 1 || choice === RUN_CODE || !programmable.every(({ tool }) => isDirect(tool))
    const others = fresh.filter((call) => !programmable.includes(call))
    return { calls: isProgram && programmable.length > 0 ? [...others, programOf(programmable)] : fresh }
  }
  const answers = new Set(settled.filter((next) => typeof next === 'string'))
  if (unfit.length > 0 || answers.size === 0) {
    const names = all.map(({ name }) => name)
    answers.add(refuse(HAN.test(question), intents.length === 0 ? [] : unfit, names))
  }
  return { text: [...answers].join('\n') }
}

const SENTENCE = /(?<=[.?!;。？！；\n])(?<!\b(?:no|nr|mr|mrs|dr|st|p\.m|a\.m)\.)\s+|(?<=[？！；。])|\n+/i
const AND =
  /,? (?:and|then|also),? (?=(?:then |also )?(?:please )?(?:what|who|which|when|how|will|is|are|does|remind|set|tell|book|send|cancel|calculate|convert|show|list|search|find|look)\b)|，(?=(?:请|再|还|并|顺便|告诉|提醒|帮))/i
const TELLS =
  /^\W*(?!i(?:'d| would) like|i (?:want|need|wonder))(?:i|i'm|i've|we|we're|my|our|he|she|they|it's|it is|there|我|我们)(?!\p{L}|')/iu

/** Splits a question into parts, and finds the tool that fits each. */
function intentsOf(
  question: string,
  earlier: readonly string[],
  tools: readonly Tool[],
  isReply: boolean,
): { intents: Intent[]; unfit: string[] } {
  const [previous] = earlier
  if (previous !== undefined) {
    const now = read(question)
    const isRest = now.words.every(({ isEmpty }) => isEmpty)
    const before = isReply || isRest ? choose(tools, read(previous)) : undefined
    // A reply, and a question such as “and in Paris?”, say only what differs from the question before.
    if (before && (isRest || !choose(tools, now))) {
      return { intents: [...spread({ ...before, reading: merge(before.reading, now), isReply })], unfit: [] }
    }
  }
  const intents: Intent[] = []
  const unfit: string[] = []
  let aside = ''
  for (const sentence of question.split(SENTENCE).filter((part) => /[\p{L}\d√]/u.test(part))) {
    if (TELLS.test(sentence) && !/[?？吗呢]/.test(sentence)) {
      aside += `${sentence} `
      continue
    }
    const single = fitOf(tools, sentence, aside)
    const parts = sentence.split(AND)
    const each = parts.map((part) => fitOf(tools, part, aside))
    const candidates = parts.length > 1 && each.every(Boolean) ? each : single ? [single] : each
    intents.push(...candidates.flatMap((candidate) => (candidate ? spread(candidate) : [])))
    if (!single) unfit.push(...parts.filter((_, at) => !candidates[at]))
    if (candidates.some(Boolean)) aside = ''
  }
  const remark = intents.length === 0 && aside !== '' ? choose(tools, read(aside)) : undefined
  return { intents: remark ? [...spread(remark)] : intents, unfit }
}

function fitOf(tools: readonly Tool[], sentence: string, aside: string): Candidate | undefined {
  const own = choose(tools, read(sentence))
  if (aside === '' || (own && own.filled.missing.length === 0)) return own
  return choose(tools, read(aside + sentence), aside) ?? own
}

/** Returns the reading of a question with the values of a later message in place of its own. */
function merge(before: Reading, now: Reading): Reading {
  const lists = (['names', 'numbers', 'codes', 'quotes', 'emails', 'urls'] as const)
    .filter((key) => now[key].length > 0)
    .map((key) => [key, now[key]])
  const when = now.when ? { ...before.when, ...now.when } : before.when
  return { ...before, ...Object.fromEntries(lists), text: now.text, prose: now.prose, when }
}

/** Makes an intent for each of several places, if the tool takes one at a time. */
function spread(intent: Intent): readonly Intent[] {
  const { tool, reading } = intent
  const takers = tool.fields.filter(({ kind }) => kind === 'place' || kind === 'zone')
  const places = reading.names.filter((name) => name.zone !== undefined && name !== reading.clockPlace)
  const isEach = places.length > 1 && takers.length === 1 && tool.action === 'read'
  return isEach ? places.map((place) => ({ ...intent, reading: { ...reading, names: [place] } })) : [intent]
}

/** Returns the call that an intent needs next, or its answer. */
function settle(intent: Intent, done: readonly Done[], tools: readonly Tool[]): Call | string {
  const { tool, reading } = intent
  const now = presentFor(reading, done, tools)
  const filled = fill({ ...intent, now: now.moment })
  if (filled.missing.length > 0) return askFor(reading.isHan, filled.missing)
  if (filled.needsNow && !now.moment) return now.call ?? lackClock(reading.isHan)
  const call = { tool: tool.name, arguments: filled.values }
  const result = done.find((old) => isSame(old, call))
  return result ? tell({ tool, reading, values: filled.values, text: result.text }) : call
}

/** Returns the present time, or the call that tells it; neither if no tool does. */
function presentFor(reading: Reading, done: readonly Done[], tools: readonly Tool[]): { moment?: Moment; call?: Call } {
  const { names, clockPlace } = reading
  const clocks = tools.filter(({ tellsNow, action }) => tellsNow && action === 'read')
  const needs = (tool: Tool): number => tool.fields.filter(({ isRequired }) => isRequired).length
  const [clock] = clocks.sort((a, b) => needs(a) - needs(b))
  if (!clock) return {}
  const place = clockPlace ?? names.find(({ zone }) => zone !== undefined)
  const entries = clock.fields.flatMap(({ name, kind, isRequired }) =>
    isRequired ? [[name, (kind === 'zone' ? place?.zone : place?.name) ?? 'UTC'] as const] : [],
  )
  const call = { tool: clock.name, arguments: Object.fromEntries(entries) }
  const earlier = done.find((old) => isSame(old, call))
  const moment = earlier && readMoment(earlier.text)
  return earlier ? { moment } : { call }
}

function isSame(a: Call, b: Call): boolean {
  const text = ({ tool, arguments: values }: Call): string =>
    JSON.stringify([tool, Object.entries(values).sort(([x], [y]) => (x < y ? -1 : 1))])
  return text(a) === text(b)
}
