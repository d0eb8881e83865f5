import { type JsonFields, summaryPart, textPart } from './shapes.ts'

export type Item = JsonFields & { readonly id: string; readonly type: string }

/** An event of a response, without its sequence number. */
export type ResponseEvent = JsonFields & { readonly type: string }

/** The item that is open: its text still grows. */
interface OpenItem {
  readonly type: 'text' | 'reasoning'
  readonly at: number
  text: string
}

/** The output of a response. Methods that change its items return the events of the change. */
export class ResponseOutput {
  readonly items: Item[] = []
  #openItem: OpenItem | undefined
  /**
   * Whether reasoning items are completed by `completeReasoning`, once the encrypted content of their step is known.
   */
  readonly #holdsReasoning: boolean
  /** The indexes of the reasoning items of the step under way that are closed, but not completed. */
  #reasoningItems: number[] = []

  constructor(holdsReasoning = false) {
    this.#holdsReasoning = holdsReasoning
  }

  /** Whether the open item is a message. */
  get hasOpenText(): boolean {
    return this.#openItem?.type === 'text'
  }

  /** Whether the step under way has a reasoning item. */
  get hasReasoning(): boolean {
    return this.#openItem?.type === 'reasoning' || this.#reasoningItems.length > 0
  }

  /** Adds an item, and closes the open one. */
  add(item: Item): ResponseEvent[] {
    const closed = this.close()
    const at = this.items.push(item) - 1
    return [...closed, { type: 'response.output_item.added', output_index: at, item }]
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
    const item = this.#patch(at, { arguments: text })
    return [
      this.itemEvent(at, `${name}.delta`, { delta: text }),
      this.itemEvent(at, `${name}.done`, {
        arguments: text,
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
    const openItem = { type, at: this.items.length - 1, text: '' }
    this.#openItem = openItem
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
    const { at, text } = openItem
    const finalFields =
      openItem.type === 'text' ? { status, content: [textPart(text)] } : { summary: [summaryPart(text)] }
    const events = [this.#textEvent(openItem, 'done', { text }), this.#part(openItem, 'done')]
    if (openItem.type === 'text' || !this.#holdsReasoning) return [...events, this.done(at, finalFields)]
    this.#patch(at, finalFields)
    this.#reasoningItems.push(at)
    return events
  }

  #grow(openItem: OpenItem, delta: string): ResponseEvent {
    openItem.text += delta
    return this.#textEvent(openItem, 'delta', { delta })
  }

  #textEvent({ type, at }: OpenItem, change: string, rest: JsonFields): ResponseEvent {
    return type === 'text'
      ? this.itemEvent(at, `output_text.${change}`, { content_index: 0, ...rest, logprobs: [] })
      : this.itemEvent(at, `reasoning_summary_text.${change}`, { summary_index: 0, ...rest })
  }

  #part({ type, at, text }: OpenItem, change: string): ResponseEvent {
    return type === 'text'
      ? this.itemEvent(at, `content_part.${change}`, { content_index: 0, part: textPart(text) })
      : this.itemEvent(at, `reasoning_summary_part.${change}`, { summary_index: 0, part: summaryPart(text) })
  }

  #patch(at: number, patch: JsonFields): Item | undefined {
    const item = this.items[at]
    return item && (this.items[at] = { ...item, ...patch })
  }
}
