import type { ContextReduction } from '../../contract/context.ts'
import { decodeLine, typeOfLine } from '../../wire/events.ts'
import type { EventTable } from './events.ts'
import { positionOf } from './messages.ts'
import type { RunTable } from './runs.ts'
import { isReduction } from './shapes.ts'

/** The parts of a conversation’s store that tell of reductions. */
interface ReductionPorts {
  meta(name: 'reduction' | 'replacements'): unknown
  setMeta(name: 'reduction' | 'replacements', value: unknown): void
  readonly runs: Pick<RunTable, 'before'>
  readonly events: Pick<EventTable, 'after'>
}

/**
 * What is left out of the prompts of a long conversation: the reduction in force is stored, earlier ones are in the
 * journals of the runs that made them. None applies that was made of a turn which has been replaced since.
 */
export class Reductions {
  readonly #ports: ReductionPorts

  constructor(ports: ReductionPorts) {
    this.#ports = ports
  }

  /** Returns the reduction in force for a run at a place; undefined if there is none, or it covers the run itself. */
  get(place: number): ContextReduction | undefined {
    const reduction = this.#ports.meta('reduction')
    if (!isReduction(reduction)) return undefined
    return reduction.from <= positionOf(place) ? reduction : this.before(place)
  }

  /** Returns the last reduction that the journals of the runs before a place tell of. */
  before(place: number): ContextReduction | undefined {
    const { runs, events } = this.#ports
    if (this.#ports.meta('reduction') === undefined) return undefined
    for (const run of runs.before(place)) {
      let reduction: ContextReduction | undefined
      for (const { lines } of events.after(run.id, 0)) {
        for (const line of lines) {
          if (typeOfLine(line) !== 'context.reduced') continue
          const event = decodeLine(line)
          if (event?.type !== 'context.reduced' || !isReduction(event.reduction)) continue
          if (event.reduction.from <= positionOf(place) && this.#applies(run.place, event.reduction))
            reduction = event.reduction
        }
      }
      if (reduction) return reduction
    }
    return undefined
  }

  /** Puts a reduction of the run at a place in force, unless it was made of a turn that has been replaced meanwhile. */
  set(place: number, reduction: ContextReduction): void {
    if (this.#applies(place, reduction)) this.#ports.setMeta('reduction', reduction)
  }

  /** Discards what was made of the turn of a run. `by`: the place of the run that replaces it. */
  discard(place: number, by: number): void {
    // Whatever was made of a later turn was made of this one too.
    const earlier = this.#replacements().filter(([of]) => of < place)
    this.#ports.setMeta('replacements', [...earlier, [place, by]])
    const reduction = this.#ports.meta('reduction')
    if (isReduction(reduction) && reduction.from > positionOf(place))
      this.#ports.setMeta('reduction', this.before(by) ?? null)
  }

  /** Whether a reduction of the run at a place was made of no turn that has been replaced since. */
  #applies(place: number, { from }: ContextReduction): boolean {
    // The first of them that came after the run replaced the earliest turn: they are in the order of both places.
    const [of = Infinity] = this.#replacements().find(([, by]) => place < by) ?? []
    return from <= positionOf(of)
  }

  #replacements(): readonly Replacement[] {
    const replacements = this.#ports.meta('replacements')
    return Array.isArray(replacements) ? replacements.filter(isReplacement) : []
  }
}

/** The place of a run whose turn was replaced, and that of the run that replaced it. */
type Replacement = readonly [of: number, by: number]

function isReplacement(value: unknown): value is Replacement {
  return Array.isArray(value) && value.length === 2 && value.every((place) => typeof place === 'number')
}
