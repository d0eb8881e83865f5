import { received } from './issue.ts'

/** A part of the value that is checked: the value, and where it is. */
export interface ValuePlace {
  readonly value: unknown
  /** The key or index of this part in `parent`. */
  readonly key?: string
  readonly parent?: ValuePlace
}

/** A reason why a value does not fit a schema. */
export interface Misfit {
  /** Keys from the root value to the part that does not fit. */
  readonly keys: readonly string[]
  /** The keyword that is not satisfied. */
  readonly keyword: string
  /** What the keyword expects, such as `at least 3`. */
  readonly expected: string
  readonly received: string
}

const MOST_CHARACTERS = 300

export function misfit(keyword: string, at: ValuePlace, expected: string): Misfit {
  const words = expected.length > MOST_CHARACTERS ? `${expected.slice(0, MOST_CHARACTERS)}…` : expected
  return { keys: keysOf(at), keyword, expected: words, received: received(at.value) }
}

function keysOf(place: ValuePlace): string[] {
  const keys: string[] = []
  for (let at: ValuePlace | undefined = place; at?.key !== undefined; at = at.parent) keys.push(at.key)
  return keys.reverse()
}

/**
 * Returns the misfits of the branch of a union that was meant. That is the branch whose type and distinguishing
 * constants the value at `at` has; if there are several, the one whose required keys it has. Undefined if no branch, or
 * more than one, could be meant.
 */
export function likeliest(branches: readonly Misfit[][], at: ValuePlace): Misfit[] | undefined {
  const { length } = keysOf(at)
  const without = (from: readonly Misfit[][], below: Readonly<Record<string, number>>) =>
    from.filter((branch) => branch.every((each) => each.keys.length > length + (below[each.keyword] ?? -1)))
  const ofKind = without(branches, { type: 0, const: 1, enum: 1 })
  const complete = ofKind.length === 1 ? ofKind : without(ofKind, { required: 1 })
  return complete.length === 1 ? complete[0] : undefined
}
