import type { RunEvent } from '../../contract/event.ts'
import { eventId } from '../events.ts'

/** The events without text. An event that is new to the union must be handled, or added here. */
type Ignored =
  | 'run.started'
  | 'input.added'
  | 'tools.added'
  | 'history.repaired'
  | 'history.compacted'
  | 'answer.cut'
  | 'approval.requested'
  | 'approval.decided'
  | 'call.requested'
  | 'call.started'
  | 'call.interrupted'
  | 'call.undone'
  | 'step.finished'
  | 'limit.reached'
  | 'run.waiting'
  | 'run.resumed'
  | 'run.cancelling'
  | 'run.snapshot'
  | 'call.delta'
  | 'call.proposed'
  | 'call.progress'
  | 'call.settled'

/** A change of a block, which is a text or some reasoning. A block starts, grows and ends before another one starts. */
export interface Block {
  readonly kind: 'text' | 'reasoning'
  readonly does: 'start' | 'delta' | 'end'
  /** The id of the block, which is the same whenever the run's events are read again. */
  readonly id: string
  /** The text that is added to the block; '' at its start and its end. */
  readonly text: string
}

/**
 * Reads the text and reasoning of a run as blocks, for formats that separate them. A step's answer adds what its deltas
 * did not have, and the end of the run what no step said: results that are returned direct.
 */
export class Blocks {
  #open: Pick<Block, 'kind' | 'id'> | undefined
  /** The text and reasoning of the current step so far. */
  #said = { text: '', reasoning: '' }

  take(event: RunEvent): readonly Block[] {
    switch (event.type) {
      case 'text.delta':
        return this.#grow(event, 'text', event.text)
      case 'reasoning.delta':
        return this.#grow(event, 'reasoning', event.text)
      case 'step.started':
      case 'step.restarted':
      case 'answer.rejected':
        this.#said = { text: '', reasoning: '' }
        return this.close()
      case 'step.answered': {
        const { reasoning = '', text } = event
        const blocks = [
          ...this.#grow(event, 'reasoning', restOf(reasoning, this.#said.reasoning)),
          ...this.#grow(event, 'text', restOf(text, this.#said.text)),
          ...this.close(),
        ]
        this.#said = { text, reasoning }
        return blocks
      }
      case 'run.finished': {
        const isNew = event.status === 'completed' && event.answer !== this.#said.text
        return [...this.close(), ...(isNew ? this.#grow(event, 'text', event.answer) : []), ...this.close()]
      }
      default:
        event.type satisfies Ignored
        return []
    }
  }

  #grow({ runId, seq }: RunEvent, kind: Block['kind'], text: string): Block[] {
    if (text === '') return []
    this.#said[kind] += text
    const blocks = this.#open?.kind === kind ? [] : this.close()
    if (!this.#open) {
      this.#open = { kind, id: eventId(runId, seq) }
      blocks.push({ ...this.#open, does: 'start', text: '' })
    }
    return [...blocks, { ...this.#open, does: 'delta', text }]
  }

  /** Ends the open block, if there is one; what follows begins another. */
  close(): Block[] {
    const open = this.#open
    this.#open = undefined
    return open ? [{ ...open, does: 'end', text: '' }] : []
  }
}

/** Returns the part of a text that was not heard; '' for a reader that joined in its middle: it has heard the end. */
function restOf(text: string, heard: string): string {
  return text.startsWith(heard) ? text.slice(heard.length) : ''
}
