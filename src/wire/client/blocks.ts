import type { RunEvent } from '../../contract/event.ts'
import { eventId } from '../events.ts'

/** The events without text. A new event must be handled in `switch`, or added here. */
type IgnoredEvent =
  | 'run.started'
  | 'input.added'
  | 'tools.added'
  | 'history.repaired'
  | 'model.retried'
  | 'model.waiting'
  | 'history.compacted'
  | 'context.reduced'
  | 'answer.cut'
  | 'approval.requested'
  | 'approval.decided'
  | 'call.requested'
  | 'call.started'
  | 'call.interrupted'
  | 'call.issued'
  | 'call.suspended'
  | 'program.woken'
  | 'program.diverged'
  | 'call.undone'
  | 'call.late'
  | 'call.deferred'
  | 'call.reported'
  | 'step.finished'
  | 'limit.reached'
  | 'run.waiting'
  | 'run.resumed'
  | 'run.cancelling'
  | 'run.parked'
  | 'run.retried'
  | 'call.delta'
  | 'call.proposed'
  | 'call.progress'
  | 'call.settled'

/** A change of a block, which is text or reasoning. A block ends before the next one starts. */
export interface Block {
  readonly kind: 'text' | 'reasoning'
  readonly change: 'start' | 'delta' | 'end'
  /** The id of the block, which is the same whenever the run's events are read again. */
  readonly id: string
  /** The text that is added to the block; '' at its start and its end. */
  readonly text: string
}

/**
 * Reads the text and reasoning of a run as blocks, for formats that separate them. The answer of a step adds text that
 * no delta had; the end of the run adds text that no step had, such as results that are returned directly.
 */
export class Blocks {
  #current: Pick<Block, 'kind' | 'id'> | undefined
  /** The text and reasoning of the current step so far. */
  #stepText = { text: '', reasoning: '' }

  take(event: RunEvent): readonly Block[] {
    switch (event.type) {
      case 'text.delta':
        return this.#grow(event, 'text', event.text)
      case 'reasoning.delta':
        return this.#grow(event, 'reasoning', event.text)
      case 'step.started':
      case 'step.restarted':
      case 'answer.rejected':
        this.#stepText = { text: '', reasoning: '' }
        return this.close()
      case 'step.answered': {
        const { reasoning = '', text } = event
        const blocks = [
          ...this.#grow(event, 'reasoning', missingText(reasoning, this.#stepText.reasoning)),
          ...this.#grow(event, 'text', missingText(text, this.#stepText.text)),
          ...this.close(),
        ]
        this.#stepText = { text, reasoning }
        return blocks
      }
      case 'run.finished': {
        const isNew = event.status === 'completed' && event.answer !== this.#stepText.text
        return [...this.close(), ...(isNew ? this.#grow(event, 'text', event.answer) : []), ...this.close()]
      }
      default:
        event.type satisfies IgnoredEvent
        return []
    }
  }

  #grow({ runId, seq }: RunEvent, kind: Block['kind'], text: string): Block[] {
    if (text === '') return []
    this.#stepText[kind] += text
    const blocks = this.#current?.kind === kind ? [] : this.close()
    if (!this.#current) {
      this.#current = { kind, id: eventId(runId, seq) }
      blocks.push({ ...this.#current, change: 'start', text: '' })
    }
    return [...blocks, { ...this.#current, change: 'delta', text }]
  }

  /** Ends the open block, if there is one; what follows begins another. */
  close(): Block[] {
    const current = this.#current
    this.#current = undefined
    return current ? [{ ...current, change: 'end', text: '' }] : []
  }
}

/**
 * Returns the part of a text that its deltas did not have; '' for a reader that joined in the middle and has received
 * the end.
 */
function missingText(text: string, readerText: string): string {
  return text.startsWith(readerText) ? text.slice(readerText.length) : ''
}
