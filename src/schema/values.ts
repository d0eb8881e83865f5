import { type Work, spend, spendText } from './work.ts'

/** A set of JSON values. Equal objects are the same value, whatever the order of their keys. */
export class ValueSet {
  readonly #scalars = new Set<unknown>()
  readonly #texts = new Set<string>()

  /** Adds a value; returns false if it is in the set already. */
  add(work: Work, value: unknown): boolean {
    const [set, key] = this.#place(work, value)
    if (set.has(key)) return false
    set.add(key)
    return true
  }

  has(work: Work, value: unknown): boolean {
    if (isCompound(value) && this.#texts.size === 0) return false
    const [set, key] = this.#place(work, value)
    return set.has(key)
  }

  #place(work: Work, value: unknown): readonly [set: Set<unknown>, key: unknown] {
    if (typeof value === 'string') spendText(work, value)
    else spend(work, 1)
    return isCompound(value) ? [this.#texts, textOf(work, value)] : [this.#scalars, value]
  }
}

function isCompound(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Returns JSON with sorted keys. A key whose value is undefined is left out. */
function textOf(work: Work, value: unknown): string {
  if (!isCompound(value)) {
    if (typeof value === 'string') spendText(work, value)
    return JSON.stringify(value) ?? 'null'
  }
  const cachedText = work.texts.get(value)
  if (cachedText !== undefined) return cachedText
  const text = Array.isArray(value) ? textOfList(work, value) : textOfObject(work, value)
  spendText(work, text)
  work.texts.set(value, text)
  return text
}

function textOfList(work: Work, items: readonly unknown[]): string {
  spend(work, 4 + 4 * items.length)
  return `[${items.map((item) => textOf(work, item)).join()}]`
}

function textOfObject(work: Work, value: object): string {
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  spend(work, 8 + 8 * entries.length)
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${textOf(work, inner)}`).join()}}`
}
