import { fromBase64 } from '../../contract/bytes.ts'
import { isObject } from '../../contract/json.ts'
import type { Message, UserContent } from '../../contract/message.ts'
import type { PartPlace, ItemRefusal, ModelEvent } from '../../contract/model.ts'

/** What a provider said of a failure, as `ProviderFault` has it. */
interface Refusal {
  readonly message: string
  readonly code?: string | undefined
  readonly path?: string | undefined
}

/**
 * How servers refuse earlier reasoning. Anthropic: “messages.1.content.0: Invalid `signature` in `thinking` block”; OpenAI:
 * “The encrypted content for item rs_… could not be verified”; Gemini: “Thought signature is not valid”.
 */
const OF_REASONING =
  /signature\W.*\b(?:thinking|thought)|thought.?signature|encrypted.?content.*(?:verif|decrypt|parse|organization)|thinking\W.*\bblocks?\b.*(?:cannot be modified|must remain)|without its required|\brs_\w+\W+not f/is

/** How they refuse one file, or a link that they cannot follow. */
const OF_FILE =
  /(?:could not|cannot|unable to|failed to|error while|timeout while) (?:\w+ ){0,2}(?:process|decode|download|fetch|access|read|open|(?:load|identify) image)|(?:unsupported|invalid|corrupt\w*|expired|empty|malformed)\W+(?:\w+\W+){0,3}(?:image|images|picture|pdf|document|file|media|mime|audio|video|url|link)|(?:image|pdf|document|file|media|mime(?:type)?)\b.*(?:not supported|not valid|unsupported|exceed|too (?:large|small|big|long)|maximum|no pages|must be|should be|corrupt|could not|does not (?:represent|match)|password)|at most \d+ (?:image|video|audio)|maximum of \d+ pdf|base64 decoding|url is disallowed|invalid_image|image_too|image_parse|sanitizer_server_error/is

/** How they refuse all files, since the model reads none. */
const OF_MODEL =
  /only supported by certain models|(?:does not|doesn't|do not|not) (?:\w+ ){0,2}support(?:ed|s)? (?:\w+ ){0,2}(?:image|vision|file|pdf|media|multi)|support image input|\b(?:image|vision|file|media)s?(?: inputs?| urls?| content)? (?:is|are) not supported|not a (?:vision|multimodal)|(?:vision|multimodal)\b.*not (?:enabled|supported)/is

/** What Gemini says of what it does not explain, such as a picture in a format that it does not read; and servers without words. */
const UNEXPLAINED = /request contains an invalid argument|^bad request|^unprocessable|with status 4(?:00|15|22)/i

const PATH = /\b(?:messages|input|contents)(?:[.[\]]+[\w-]+)+/

/** Returns what a refusal says of a part of a message; undefined if it is about something else. */
export function readItemRefusal({ message, code = '', path = '' }: Refusal): ItemRefusal | undefined {
  const keys = [path, message].map(keysIn).find((each) => each !== undefined)
  const text = `${code} ${message}`
  const place = keys ? { path: keys } : {}
  if (OF_REASONING.test(text)) return { about: 'reasoning', ...place }
  if (OF_MODEL.test(text)) return { about: 'files' }
  if (OF_FILE.test(text)) return { about: 'file', ...place }
  return keys || UNEXPLAINED.test(message) ? { about: 'unknown', ...place } : undefined
}

function keysIn(text: string): readonly string[] | undefined {
  const keys = PATH.exec(text)?.[0]
    .split(/[.[\]]+/)
    .filter((key) => key !== '')
  return keys?.some((key) => /^\d+$/.test(key)) ? keys : undefined
}

/** A part of a message that can be left out, and the texts by which it is found in a body. */
interface Candidate {
  readonly place: PartPlace
  readonly texts: readonly string[]
}

/**
 * Finds the parts of messages that a refusal may be about: those in the place that it names, else all of their kind.
 * `body`: what was sent, parsed. Texts of people are never among them. Undefined if there are none.
 */
function locateItems(
  refusal: ItemRefusal,
  messages: readonly Message[],
  body: unknown,
  message: string,
): ItemRefusal | undefined {
  const all = messages.flatMap(candidatesIn)
  const place = refusal.path && partAtPath(body, refusal.path)
  const placeText = place === undefined ? '' : JSON.stringify(place)
  const candidates = all.filter(({ texts }) => texts.some((text) => placeText.includes(text)))
  if (candidates.length > 0)
    return { ...refusal, items: candidates.map((each) => each.place), isNamed: candidates.length === 1 }
  // What is at the place is neither a file nor reasoning.
  if (refusal.about === 'unknown' && refusal.path) return undefined
  const isReasoning = refusal.about === 'reasoning'
  const items = all.filter((each) => (each.place.part === 'opaque') === isReasoning)
  if (items.length === 0) return undefined
  const mentions = isReasoning ? items.filter((each) => isMentioned(each, message)) : []
  return { ...refusal, items: (mentions.length > 0 ? mentions : items).map((each) => each.place) }
}

/** Whether a refusal is about one part of the messages, and not about what the model takes at all. */
export function isOfItem(fault: Refusal | undefined, messages: readonly Message[], body: () => unknown): boolean {
  const refusal = fault && readItemRefusal(fault)
  if (!fault || !refusal || !/^(?:file|reasoning)$/.test(refusal.about)) return false
  return locateItems(refusal, messages, body(), fault.message) !== undefined
}

/**
 * Yields the events of an answer; an error that is about parts of messages tells which they may be. `body`: returns what was
 * sent, parsed.
 */
export async function* withItems(
  events: AsyncIterable<ModelEvent>,
  messages: readonly Message[],
  body: () => unknown,
): AsyncGenerator<ModelEvent, void> {
  for await (const event of events) {
    if (event.type !== 'error' || !event.error.item) yield event
    else {
      const { item: refusal, ...error } = event.error
      const item = locateItems(refusal, messages, body(), error.message)
      yield { type: 'error', error: { ...error, ...(item && { item }) } }
    }
  }
}

function candidatesIn(message: Message, index: number): Candidate[] {
  if (message.role === 'assistant') {
    const texts = message.opaque ? longTexts(message.opaque.data) : []
    return texts.length > 0 ? [{ place: { message: index, part: 'opaque' }, texts }] : []
  }
  if (message.role === 'system' || typeof message.content === 'string') return []
  return message.content.flatMap((part, at) =>
    part.type === 'text' ? [] : [{ place: { message: index, part: at }, texts: textsOf(part) }],
  )
}

/** Returns a file as bodies have it: by its address, as base64, or as text. */
function textsOf(part: Exclude<UserContent, { readonly type: 'text' }>): readonly string[] {
  if ('url' in part) return [part.url]
  const isText = /^text\/|json$/.test(part.mediaType)
  const decoded = isText ? JSON.stringify(new TextDecoder().decode(fromBase64(part.data))).slice(1, -1) : ''
  return [part.data, ...(decoded === '' ? [] : [decoded])].filter((text) => text !== '')
}

/** The shortest text that is taken for a signature or encrypted reasoning. */
const SHORTEST = 12

function longTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= SHORTEST ? [JSON.stringify(value).slice(1, -1)] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(longTexts) : []
}

/** Whether a message names reasoning by its id, or by the ends of its text: `gAAA...DQ==`. */
function isMentioned({ texts }: Candidate, message: string): boolean {
  const [, start, end] = /(\S{3,})(?:\.{3}|…)(\S{2,})/.exec(message) ?? []
  return texts.some(
    (text) =>
      (text.startsWith('rs_') && message.includes(text)) ||
      (start !== undefined && end !== undefined && text.startsWith(start) && text.endsWith(end)),
  )
}

/** Follows a path as far as it leads. Providers name kinds of parts in it, which are no keys. */
function partAtPath(body: unknown, path: readonly string[]): unknown {
  let at = body
  for (const key of path) {
    if (Array.isArray(at)) {
      if (!/^\d+$/.test(key)) continue
      if (Number(key) >= at.length) return undefined
      at = at[Number(key)]
    } else if (isObject(at) && Object.hasOwn(at, key)) at = at[key]
  }
  return at === body ? undefined : at
}
