import { isObject, parseShallow } from '../../../contract/json.ts'
import type { Opaque } from '../../../contract/message.ts'
import { broughtOpaque } from '../../provider/model-answer.ts'
import type { PlacedCitation } from '../visible-text.ts'
import { annotation, type JsonFields, type ProviderItem, summaryPart, textPart } from './shapes.ts'

type Item = JsonFields & { readonly id: string; readonly type: string }

/** An event of a response, without its sequence number. */
export type ResponseEvent = JsonFields & { readonly type: string }

/** The item that is open: its text still grows. */
interface OpenItem {
  readonly type: 'text' | 'reasoning'
  readonly at: number
  /** Where its text begins in that of all messages. */
  readonly start: number
  text: string
  readonly annotations: JsonFields[]
}

/** The output of a response. Methods that change its items return the events of the change. */
export class ResponseOutput {
  readonly items: Item[] = []
  /** The phase of the messages that are closed from now on, if the model's server has told one. */
  phase = ''
  #openItem: OpenItem | undefined
  /** The messages, and the length of their texts. */
  readonly #messages: OpenItem[] = []
  #textLength = 0
  /**
   * Whether reasoning items are completed by `completeReasoning`, once the encrypted content of their step is known.
   */
  readonly #holdsReasoning: boolean
  /** The indexes of the reasoning items of the step under way that are closed, but not completed. */
  #reasoningItems: number[] = []

  constructor(holdsReasoning = false) {
    this.#holdsReasoning = holdsReasoning
  }

  /** Whether the step under way has a reasoning item. */
  get hasReasoning(): boolean {
    return this.#openItem?.type === 'reasoning' || this.#reasoningItems.length > 0
  }

  /** Adds an item, and closes the open one. */
  add(item: Item): ResponseEvent[] {
    const closed = this.close()
    return [...closed, this.#addBeside(item)]
  }

  #addBeside(item: Item): ResponseEvent {
    const at = this.items.push(item) - 1
    return { type: 'response.output_item.added', output_index: at, item }
  }

  /**
   * Adds what the provider has done. A message that is open stays so: its sources, which may be of all its text, are
   * known only at its end.
   */
  addProviderItem({ item, input, states, outcome }: ProviderItem): ResponseEvent[] {
    const added = this.#addBeside(item)
    const at = this.items.length - 1
    const [first, ...others] = states.map((state) => this.itemEvent(at, `${item.type}.${state}`))
    const inputs = input ? this.setInput(at, input.member, input.events, input.text) : []
    return [added, ...(first ? [first] : []), ...inputs, ...others, this.done(at, outcome)]
  }

  /** Adds these sources to the messages that rest on them. A message that is closed has no event for it. */
  annotate(citations: readonly PlacedCitation[]): ResponseEvent[] {
    return citations.flatMap((citation) => {
      const message = this.#messages.findLast(({ start }) => start <= citation.start)
      if (!message) return []
      const { at, start, text, annotations } = message
      const value = annotation(citation, start, text.length)
      const annotation_index = annotations.push(value) - 1
      const rest = { content_index: 0, annotation_index, annotation: value }
      if (message === this.#openItem) return [this.itemEvent(at, 'output_text.annotation.added', rest)]
      this.#patch(at, { content: [textPart(text, annotations)] })
      return []
    })
  }

  /** Completes an item, with these members. */
  done(at: number, patch: JsonFields = {}): ResponseEvent {
    return { type: 'response.output_item.done', output_index: at, item: this.#patch(at, patch) }
  }

  itemEvent(at: number, name: string, rest: JsonFields = {}): ResponseEvent {
    return { type: `response.${name}`, item_id: this.items[at]?.id, output_index: at, ...rest }
  }

  /** Sets the arguments of a call, which are known whole. */
  setArguments(at: number, name: string, text: string): ResponseEvent[] {
    return this.setInput(at, 'arguments', name, text)
  }

  /** Sets a text that a call takes, such as its arguments or its code. */
  setInput(at: number, member: string, name: string, text: string): ResponseEvent[] {
    const item = this.#patch(at, { [member]: text })
    return [
      this.itemEvent(at, `${name}.delta`, { delta: text }),
      this.itemEvent(at, `${name}.done`, {
        [member]: text,
        // Only the event of a call that the caller runs has the name of its tool.
        ...(item?.type === 'function_call' && { name: item.name }),
      }),
    ]
  }

  /** Adds a piece of text or reasoning to the open item, or to a new one, whose id is made of `id`. */
  append(type: OpenItem['type'], text: string, id: string): ResponseEvent[] {
    if (this.#openItem?.type === type) return [this.#grow(this.#openItem, text)]
    const isText = type === 'text'
    const events = isText
      ? this.add({ id: `msg_${id}`, type: 'message', role: 'assistant', status: 'in_progress', content: [] })
      : this.add({ id: `rs_${id}`, type: 'reasoning', summary: [] })
    const openItem = { type, at: this.items.length - 1, start: this.#textLength, text: '', annotations: [] }
    this.#openItem = openItem
    if (isText) this.#messages.push(openItem)
    // The empty line between two blocks is not needed between two items of reasoning. A message keeps it, since clients join
    // the texts of all messages (`output_text`).
    return [...events, this.#part(openItem, 'added'), this.#grow(openItem, isText ? text : text.replace(/^\n\n/, ''))]
  }

  /** Adds a reasoning item without text, which `completeReasoning` completes. Its id is made of `id`. */
  addReasoning(id: string): ResponseEvent[] {
    const events = this.add({ id: `rs_${id}`, type: 'reasoning', summary: [] })
    this.#reasoningItems.push(this.items.length - 1)
    return events
  }

  /** Completes the reasoning items of a step. The first of them gets the encrypted content of all, if there is any. */
  completeReasoning(content?: string): ResponseEvent[] {
    const closed = this.#openItem?.type === 'reasoning' ? this.close() : []
    const indexes = this.#reasoningItems
    this.#reasoningItems = []
    const patch = content === undefined ? {} : { encrypted_content: content }
    return [...closed, ...indexes.map((at, index) => this.done(at, index === 0 ? patch : {}))]
  }

  /** Closes the open item, if there is one. */
  close(status = 'completed'): ResponseEvent[] {
    const openItem = this.#openItem
    if (!openItem) return []
    this.#openItem = undefined
    const { at, text, annotations } = openItem
    const finalFields =
      openItem.type === 'text'
        ? { status, content: [textPart(text, annotations)], ...(this.phase && { phase: this.phase }) }
        : { summary: [summaryPart(text)] }
    const events = [this.#textEvent(openItem, 'done', { text }), this.#part(openItem, 'done')]
    if (openItem.type === 'text' || !this.#holdsReasoning) return [...events, this.done(at, finalFields)]
    this.#patch(at, finalFields)
    this.#reasoningItems.push(at)
    return events
  }

  #grow(openItem: OpenItem, delta: string): ResponseEvent {
    openItem.text += delta
    if (openItem.type === 'text') this.#textLength += delta.length
    return this.#textEvent(openItem, 'delta', { delta })
  }

  #textEvent({ type, at }: OpenItem, change: string, rest: JsonFields): ResponseEvent {
    return type === 'text'
      ? this.itemEvent(at, `output_text.${change}`, { content_index: 0, ...rest, logprobs: [] })
      : this.itemEvent(at, `reasoning_summary_text.${change}`, { summary_index: 0, ...rest })
  }

  #part({ type, at, text, annotations }: OpenItem, change: string): ResponseEvent {
    return type === 'text'
      ? this.itemEvent(at, `content_part.${change}`, { content_index: 0, part: textPart(text, annotations) })
      : this.itemEvent(at, `reasoning_summary_part.${change}`, { summary_index: 0, part: summaryPart(text) })
  }

  #patch(at: number, patch: JsonFields): Item | undefined {
    const item = this.items[at]
    return item && (this.items[at] = { ...item, ...patch })
  }
}

/** The place of a response: its run, and where in the run it begins. */
export interface ResponsePlace {
  readonly runId: string
  /** Undefined for a run that was not stored. */
  readonly conversation?: string | undefined
  /** The number of the run's event after which the response begins: a run that waited has several responses. */
  readonly after: number
}

/** Returns the id of a response, which contains its place. */
export function responseId({ runId, conversation, after }: ResponsePlace): string {
  const id = `resp_${runId.replace(/^run_/, '')}_${after}`
  return conversation === undefined ? id : `${id}_${conversation}`
}

/** Parses the id of a response. Undefined if no edge made the id, or if the response was not stored. */
export function parseResponseId(id: string): (ResponsePlace & { readonly conversation: string }) | undefined {
  const [, run, after, conversation] = /^resp_([A-Za-z0-9]{22})_(\d{1,15})_([A-Za-z0-9_-]{1,64})$/.exec(id) ?? []
  return conversation === undefined ? undefined : { runId: `run_${run}`, after: Number(after), conversation }
}

/** The prefixes of item ids of calls that the edge runs: of an `mcp_call`, and of an `mcp_approval_request` for it. */
export const CALL_ITEM = 'mcp_'
export const APPROVAL_ITEM = 'mcpr_'

/** The place where an item is stored. */
export interface ItemPlace {
  /** The id of a call; for other items, that of the run without its prefix, and the number of an event. */
  readonly name: string
  readonly runId: string
  /** '' for an item of a run that was not stored. */
  readonly conversation: string
}

/** Returns the end of the ids of a response's items, by which a reference to an item finds its conversation. */
export function itemSuffix(conversation: string | undefined): string {
  return conversation === undefined ? '' : `_${conversation}`
}

/** Parses the id of an item. Undefined if no edge made the id. */
export function parseItemId(id: string): ItemPlace | undefined {
  const pattern = /^[a-z]+_((?:call_([A-Za-z0-9]{22})_\d+|([A-Za-z0-9]{22}))_\d+)(?:_([A-Za-z0-9_-]{1,64}))?$/
  const [, name, ofCall, ofText, conversation = ''] = pattern.exec(id) ?? []
  return name === undefined ? undefined : { name, runId: `run_${ofCall ?? ofText}`, conversation }
}

/** Returns the id of the call that an `mcp_call` or `mcp_approval_request` with this id stands for. */
export function callOfItem(id: string): string {
  return parseItemId(id)?.name ?? id.replace(/^mcpr?_/, '')
}

/** The opaque data of one answer of a model, as the `encrypted_content` of a reasoning item holds it. */
interface EncryptedContent {
  readonly opaque: Opaque
  /** Whether the reasoning item follows the text of its answer: earlier versions have made such items. */
  readonly isLate: boolean
}

/** The prefix of content that an edge made. */
const PREFIX = 'edgecall.'

/**
 * Encodes the data that a provider wants back with an answer, so that a caller whose responses are not stored can
 * return it. The edge does not encrypt it: it is the provider's data, and belongs to an answer that the caller has.
 */
export function encodeEncryptedContent({ codec, data }: Opaque): string {
  return PREFIX + base64Of({ codec, data })
}

/** Decodes content that an edge made. Undefined for any other, such as OpenAI's own. */
export function decodeEncryptedContent(content: string): EncryptedContent | undefined {
  const value = content.startsWith(PREFIX) ? parseShallow(textOfBase64(content.slice(PREFIX.length))) : undefined
  if (!isObject(value) || typeof value['codec'] !== 'string') return undefined
  const { codec, data, isLate } = value
  return { opaque: broughtOpaque({ codec, data }), isLate: isLate === true }
}

/** `btoa` takes no other characters. */
const NOT_ASCII = /[\u0080-\uffff]/g

/** Encodes a value as the base64 of its JSON. */
export function base64Of(value: unknown): string {
  return btoa(JSON.stringify(value).replace(NOT_ASCII, escapeCode))
}

function escapeCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Decodes base64; '' if it is not valid. */
export function textOfBase64(base64: string): string {
  try {
    return atob(base64)
  } catch {
    return ''
  }
}
