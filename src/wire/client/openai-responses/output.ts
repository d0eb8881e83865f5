import { type Json, summaryPart, textPart } from './shapes.ts'

export type Item = Json & { readonly id: string; readonly type: string }

/** An event of a response, without its sequence number. */
export type ResponseEvent = Json & { readonly type: string }

/** The item that is open: its text still grows. */
interface Open {
  readonly type: 'text' | 'reasoning'
  readonly at: number
  text: string
}

/** The output of a response. Methods that change its items return the events of the change. */
export class Output {
  readonly items: Item[] = []
  #open: Open | undefined

  /** Adds an item, and closes the open one. */
  add(item: Item): ResponseEvent[] {
    const closed = this.close()
    const at = this.items.push(item) - 1
    return [...closed, { type: 'response.output_item.added', output_index: at, item }]
  }

  /** Completes an item, with these members. */
  done(at: number, patch: Json = {}): ResponseEvent {
    return { type: 'response.output_item.done', output_index: at, item: this.#patch(at, patch) }
  }

  about(at: number, name: string, rest: Json = {}): ResponseEvent {
    return { type: `response.${name}`, item_id: this.items[at]?.id, output_index: at, ...rest }
  }

  /** Sets the arguments of a call, which are known whole. */
  told(at: number, name: string, text: string): ResponseEvent[] {
    this.#patch(at, { arguments: text })
    return [this.about(at, `${name}.delta`, { delta: text }), this.about(at, `${name}.done`, { arguments: text })]
  }

  /** Adds a piece of text or reasoning to the open item, or to a new one, whose id is made of `id`. */
  say(type: Open['type'], text: string, id: string): ResponseEvent[] {
    if (this.#open?.type === type) return [this.#grow(this.#open, text)]
    const isText = type === 'text'
    const events = isText
      ? this.add({ id: `msg_${id}`, type: 'message', role: 'assistant', status: 'in_progress', content: [] })
      : this.add({ id: `rs_${id}`, type: 'reasoning', summary: [] })
    const open = { type, at: this.items.length - 1, text: '' }
    this.#open = open
    // The empty line that parts two blocks of reasoning is not needed between two items.
    return [...events, this.#part(open, 'added'), this.#grow(open, isText ? text : text.replace(/^\n\n/, ''))]
  }

  /** Closes the open item, if there is one. */
  close(status = 'completed'): ResponseEvent[] {
    const open = this.#open
    if (!open) return []
    this.#open = undefined
    const { at, text } = open
    const whole = open.type === 'text' ? { status, content: [textPart(text)] } : { summary: [summaryPart(text)] }
    return [this.#spoken(open, 'done', { text }), this.#part(open, 'done'), this.done(at, whole)]
  }

  #grow(open: Open, delta: string): ResponseEvent {
    open.text += delta
    return this.#spoken(open, 'delta', { delta })
  }

  #spoken({ type, at }: Open, does: string, rest: Json): ResponseEvent {
    return type === 'text'
      ? this.about(at, `output_text.${does}`, { content_index: 0, ...rest, logprobs: [] })
      : this.about(at, `reasoning_summary_text.${does}`, { summary_index: 0, ...rest })
  }

  #part({ type, at, text }: Open, does: string): ResponseEvent {
    return type === 'text'
      ? this.about(at, `content_part.${does}`, { content_index: 0, part: textPart(text) })
      : this.about(at, `reasoning_summary_part.${does}`, { summary_index: 0, part: summaryPart(text) })
  }

  #patch(at: number, patch: Json): Item | undefined {
    const item = this.items[at]
    return item && (this.items[at] = { ...item, ...patch })
  }
}
