import { FEATURES } from '../fixtures/setup.ts'
import { contentText, type Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { RunJournal } from '../../src/conversation/run/journal.ts'
import { Readers } from '../../src/conversation/run/readers.ts'
import type { Store } from '../../src/conversation/store/store.ts'

/** What the model of these tests says when a request is longer than its window. */
export type Refusal = 'exact' | 'without a figure' | 'with a wrong figure' | 'by silence'

/** Counts tokens by a rule of its own, which the product does not know: two for each word, and one for each six characters. */
export function countTokens({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number {
  return messages.reduce((total, message) => total + 7 + textTokens(textOf(message)), textTokens(JSON.stringify(tools)))
}

function textTokens(text: string): number {
  return Math.ceil(text.length / 6) + (text.match(/\s+/g)?.length ?? 0)
}

/** Returns all of a message that a model reads. */
export function textOf(message: Message): string {
  const calls = message.role === 'assistant' ? (message.calls ?? []) : []
  return [contentText(message.content), ...calls.map((call) => `${call.tool}(${call.arguments})`)].join('\n')
}

/** A model with a window, which refuses what is longer. `answer`: what it says to what fits. */
export class WindowModel {
  /** The requests that it has answered, and how many it has refused. */
  readonly requests: ModelRequest[] = []
  refused = 0
  readonly #window: number
  readonly #refusal: Refusal
  readonly #answer: (request: ModelRequest) => readonly ModelEvent[]

  constructor(window: number, refusal: Refusal, answer: (request: ModelRequest) => readonly ModelEvent[]) {
    this.#window = window
    this.#refusal = refusal
    this.#answer = answer
  }

  readonly stream = (request: ModelRequest): readonly ModelEvent[] => {
    const inputTokens = countTokens(request)
    if (inputTokens <= this.#window) {
      this.requests.push(structuredClone(request))
      const usage = { inputTokens, outputTokens: 10 }
      return this.#answer(request).map((event) => (event.type === 'finish' ? { ...event, usage } : event))
    }
    this.refused += 1
    if (this.#refusal === 'by silence')
      return [{ type: 'finish', finish: 'length', usage: { inputTokens: this.#window, outputTokens: 0 } }]
    const overflow = {
      exact: { contextTokens: this.#window, requestTokens: inputTokens },
      'without a figure': {},
      'with a wrong figure': { contextTokens: this.#window * 3 },
    }[this.#refusal]
    const message = `The prompt of ${inputTokens} tokens is too long.`
    return [
      { type: 'error', error: { code: 'model_context_exceeded', message, status: 400, retryable: false, overflow } },
    ]
  }
}

/** Returns what a model can know: its prompt, and what can be read by the ids that the prompt, or what is read so, names. */
export function knowledgeOf(store: Store, request: Pick<ModelRequest, 'messages'> | undefined): string {
  const journal = readingJournal(store)
  const texts: string[] = []
  const visited = new Set<string>()
  const visit = (text: string): void => {
    const plain = text.replaceAll('\\"', '"')
    texts.push(plain)
    for (const [, notes = ''] of plain.matchAll(/id "(notes_[^"]+)"/g)) {
      if (visited.has(notes)) continue
      visited.add(notes)
      visit((journal.fullResult(notes) ?? []).map((part) => contentText([part])).join('\n'))
    }
    for (const [, callId = '', about] of plain.matchAll(/["[](call_\w+(?:-\d+)?)\.(calls|arguments)[\]"]/g)) {
      if (visited.has(`${callId}.${about}`)) continue
      visited.add(`${callId}.${about}`)
      const subject = journal.earlierCall(callId)
      visit(
        about === 'calls'
          ? (subject?.calls ?? []).map((made) => made.arguments).join('\n')
          : (subject?.arguments ?? ''),
      )
    }
  }
  visit((request?.messages ?? []).map(textOf).join('\n'))
  return texts.join('\n')
}

/** The journal of the last run, which is only read. */
export function readingJournal(store: Store): RunJournal {
  const id = [...store.runs.all()].at(-1)?.id ?? ''
  const stored = store.runs.get(id)
  if (!stored) throw new Error('No run is stored')
  return new RunJournal({ store, readers: new Readers(), now: () => 0, notes: FEATURES.planner.notes }, stored)
}
