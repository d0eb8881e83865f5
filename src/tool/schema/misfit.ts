import { received } from '../fault.ts'

/** A part of the value that is looked at. */
export interface Place {
  readonly value: unknown
  readonly keys: readonly string[]
}

/** What keeps a value from fitting a schema. */
export interface Misfit {
  /** Keys from the root value to the part at fault. */
  readonly keys: readonly string[]
  /** The keyword that is not satisfied. */
  readonly keyword: string
  /** Such as `at least 3`. */
  readonly expected: string
  readonly received: string
}

const MOST_CHARACTERS = 300

export function misfit(keyword: string, { keys, value }: Place, expected: string): Misfit {
  const words = expected.length > MOST_CHARACTERS ? `${expected.slice(0, MOST_CHARACTERS)}…` : expected
  return { keys, keyword, expected: words, received: received(value) }
}

/**
 * The misfits of the one branch of a union that was meant: the value, at `keys`, has its type and the constants that
 * tell branches apart, and, where that leaves several, the keys that it requires. Undefined where none or several could
 * be.
 */
export function likeliest(branches: readonly Misfit[][], keys: readonly string[]): Misfit[] | undefined {
  const without = (from: readonly Misfit[][], below: Readonly<Record<string, number>>) =>
    from.filter((branch) => branch.every((each) => each.keys.length > keys.length + (below[each.keyword] ?? -1)))
  const ofKind = without(branches, { type: 0, const: 1, enum: 1 })
  const whole = ofKind.length === 1 ? ofKind : without(ofKind, { required: 1 })
  return whole.length === 1 ? whole[0] : undefined
}
