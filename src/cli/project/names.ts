import { Failure } from '../failure.ts'

/** The forms of one name. */
export interface Names {
  /** `roll-dice`, for folders and Workers. */
  readonly kebab: string
  /** `rollDice`, which models see. */
  readonly camel: string
  /** `roll dice`, for texts. */
  readonly words: string
  /** `TOOL_ROLL_DICE`. */
  readonly binding: string
}

/** Names of Workers have at most 63 characters, as a label of a domain name. */
const MOST_CHARACTERS = 40

/** Reads a name as people write it: `roll-dice`, `rollDice` or `roll_dice`. Throws a Failure for one that is not usable. */
export function namesOf(text: string): Names {
  const words = text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_]/)
  const kebab = words.join('-')
  if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(kebab) || kebab.length > MOST_CHARACTERS) {
    throw new Failure(
      `"${text}" cannot be a name.`,
      `Use letters, digits and hyphens, such as roll-dice: at most ${MOST_CHARACTERS}, the first a letter.`,
    )
  }
  const camel = words.map((word, at) => (at === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1))).join('')
  return { kebab, camel, words: words.join(' '), binding: `TOOL_${kebab.replaceAll('-', '_').toUpperCase()}` }
}
