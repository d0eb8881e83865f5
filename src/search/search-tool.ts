import type { RankTools } from '../contract/decision.ts'
import { canonicalJson, sha256 } from '../contract/json.ts'
import { type Message, contentText, type ToolMessage } from '../contract/message.ts'
import { controlSignal } from '../contract/time-limit.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import { failure, type Tool, TOOL_SEARCH, type ToolControl, type ToolOutcome } from '../contract/tool.ts'

/** The text that a model is given about the search tool, beside its definition. */
export const SEARCH_HINT =
  `Most tools are not listed. If none of those listed fits the task, call ${TOOL_SEARCH} first; what it names can be called ` +
  'from then on. Never say that something cannot be done before you have searched.'

/** Adds the hint to the end of a system message; returns it as it is if the hint is empty. */
export function withSearchHint(system: string | undefined, hint: string = SEARCH_HINT): string | undefined {
  if (hint === '') return system
  return system ? `${system}\n\n${hint}` : hint
}

export interface SearchToolOptions {
  /** Finds at most `limit` tools, best first. */
  readonly search: (query: string, limit: number) => Promise<readonly Pick<ToolDefinition, 'name' | 'description'>[]>
  /** How many tools an answer names if the model does not say. */
  readonly maxResults: number
  /** Returns what ranks the tools that were found. Default: nothing does. */
  readonly ranking?: (() => RankTools | undefined) | undefined
}

const MOST_RESULTS = 20
/** How many of the tools that were found are ranked. */
const MOST_RANKED = 40
const MOST_DESCRIPTION = 160

const DESCRIPTION = {
  name: TOOL_SEARCH,
  description: 'Finds tools for a task and names those that fit best, one on each line. They can then be called.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'A few words, or the whole question' },
      maxResults: { type: 'integer', minimum: 1, maximum: MOST_RESULTS, description: 'How many to name' },
    },
    required: ['query'],
    additionalProperties: false,
  },
} as const

let knownHash: string | undefined

/** Returns the hash of the search tool, whose definition never varies; a promise the first time in an isolate. */
export function searchToolHash(): string | Promise<string> {
  return knownHash ?? sha256(canonicalJson(DESCRIPTION)).then((hash) => (knownHash = hash))
}

/** Makes the tool by which a model finds others; `hash` comes from `searchToolHash`. */
export function searchTool(options: SearchToolOptions, hash: string): Tool {
  const annotations = { readOnly: true, idempotent: true, destructive: false, openWorld: false }
  return {
    // Programs of models have a search of their own.
    definition: { ...DESCRIPTION, version: '1', hash, annotations, callers: ['model'] },
    origin: 'inline',
    place: TOOL_SEARCH,
    offered: true,
    call: (request, control) => answer(options, request.arguments, control),
  }
}

async function answer(
  { search, maxResults, ranking }: SearchToolOptions,
  { query, maxResults: requestedMax }: Readonly<Record<string, unknown>>,
  control: Pick<ToolControl, 'whenAborted'>,
): Promise<ToolOutcome> {
  if (typeof query !== 'string' || query.trim() === '') {
    return failure('invalid_arguments', `${TOOL_SEARCH}: query: expected a text that describes the task.`)
  }
  const most = typeof requestedMax === 'number' && requestedMax >= 1 ? requestedMax : maxResults
  const limit = Math.min(Math.trunc(most), MOST_RESULTS)
  const rank = ranking?.()
  const candidates = await search(query, rank ? MOST_RANKED : limit)
  const judgement =
    rank && candidates.length > 1 ? await rank({ query, tools: candidates }, controlSignal(control)) : undefined
  const { probabilities = {}, usage } = judgement ?? {}
  const share = ({ name }: { readonly name: string }) =>
    Object.hasOwn(probabilities, name) ? (probabilities[name] ?? 0) : 0
  // Tools that are as likely as each other stay in their order.
  const matches = (judgement?.ok ? candidates.toSorted((a, b) => share(b) - share(a)) : candidates).slice(0, limit)
  const lines = matches.map(({ name, description }) => `${name}: ${brief(description)}`)
  const text = lines.join('\n') || 'No tool matches this query. Try other words.'
  return {
    ok: true,
    content: [{ type: 'text', text }],
    structured: { tools: matches.map(({ name }) => name) },
    ...(judgement && { metadata: { judgement } }),
    usage,
  }
}

/** Shortens a description to one line, so that a part of it cannot look like another tool. */
function brief(description: string): string {
  const line = description.replace(/\s+/g, ' ').trim()
  return line.length > MOST_DESCRIPTION ? `${line.slice(0, MOST_DESCRIPTION).replace(/\s\S*$/, '')}…` : line
}

/**
 * Returns the tools that searches in these messages have found, each once, in the order in which they were found: those
 * of `all` searches, or of the `latest` step that searched. Names that are no longer known are left out.
 */
export function foundTools(
  messages: readonly Message[],
  isKnown: (name: string) => boolean,
  keep: 'all' | 'latest' = 'all',
): readonly string[] {
  let names = new Set<string>()
  let sameStep = false
  for (const message of messages) {
    if (message.role !== 'tool') sameStep = false
    if (message.role !== 'tool' || message.tool !== TOOL_SEARCH) continue
    if (keep === 'latest' && !sameStep) names = new Set()
    sameStep = true
    for (const name of namesIn(message, isKnown)) names.add(name)
  }
  return [...names]
}

/** Returns the known tools that one search has found. */
function namesIn({ ok, content }: ToolMessage, isKnown: (name: string) => boolean): string[] {
  if (!ok) return []
  const names = contentText(content)
    .split('\n')
    .map((line) => line.slice(0, Math.max(0, line.indexOf(': '))))
  return names.filter(isKnown)
}

const markedMessages = new WeakMap<ToolMessage, ToolMessage>()

/**
 * Marks each search result in a request's messages with the tools on offer that it found (`found`). A provider that
 * loads definitions only when they are found can then keep its prompt cache. The same result becomes the same object
 * each time, so that a codec encodes it once.
 */
export function withFound(messages: readonly Message[], isOffered: (name: string) => boolean): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== 'tool' || message.tool !== TOOL_SEARCH) return message
    const foundNames = namesIn(message, isOffered)
    const marked = markedMessages.get(message)
    if (marked && String(marked.found) === String(foundNames)) return marked
    const withNames = { ...message, found: foundNames }
    markedMessages.set(message, withNames)
    return withNames
  })
}
