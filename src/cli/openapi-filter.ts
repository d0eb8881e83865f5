import { Failure } from './failure.ts'

/** Which operations of an OpenAPI document are imported: those that meet one condition of each kind that is given. */
export interface OperationFilter {
  readonly tags: readonly string[]
  /** Paths, and all paths below them. */
  readonly paths: readonly string[]
  /** Ids, or methods and paths such as `GET /pets`. */
  readonly operations: readonly string[]
  /** The most tools that are made. Default: any number. */
  readonly limit?: number | undefined
}

/** What a filter reads of an operation. */
interface OperationFacts {
  readonly method: string
  readonly path: string
  readonly fields: Readonly<Record<string, unknown>>
}

interface OperationSelector {
  isSelected(operation: OperationFacts): boolean
  /** Throws a Failure for a condition that no operation has met so far, such as a misspelt tag. */
  checkAll(): void
}

const MOST_NAMES = 20

/** Returns what selects operations by a filter, and remembers which of its conditions any operation has met. */
export function operationSelector({ tags, paths, operations }: OperationFilter): OperationSelector {
  const unmet = new Set([...tags, ...paths, ...operations])
  const tagNames = new Set<string>()
  /** Whether one of the conditions of a kind is met, or none is given. */
  const isMet = (conditions: readonly string[], meets: (condition: string) => boolean) => {
    const met = conditions.filter(meets)
    for (const condition of met) unmet.delete(condition)
    return conditions.length === 0 || met.length > 0
  }
  return {
    isSelected: ({ method, path, fields: { operationId, tags: labels } }) => {
      const own = Array.isArray(labels) ? labels.map(String) : []
      for (const tag of own) tagNames.add(tag)
      const address = `${method.toUpperCase()} ${path}`
      const hasTag = isMet(tags, (tag) => own.includes(tag))
      const hasPath = isMet(paths, (each) => path === each || path.startsWith(`${each.replace(/\/+$/, '')}/`))
      const hasName = isMet(operations, (each) => each === operationId || each === address)
      return hasTag && hasPath && hasName
    },
    checkAll: () => {
      const firstUnmet = (conditions: readonly string[]) => conditions.find((condition) => unmet.has(condition))
      const [tag, path, operation] = [firstUnmet(tags), firstUnmet(paths), firstUnmet(operations)]
      if (tag !== undefined) {
        const names = [...tagNames].toSorted()
        const more = names.length > MOST_NAMES ? ', …' : ''
        throw new Failure(
          `No operation has the tag "${tag}".`,
          names.length === 0
            ? 'The document has no tags.'
            : `Its tags are ${names.slice(0, MOST_NAMES).join(', ')}${more}.`,
        )
      }
      if (path !== undefined)
        throw new Failure(`No operation has the path ${path}, or one below it.`, 'Paths begin with a slash.')
      if (operation !== undefined)
        throw new Failure(`There is no operation "${operation}".`, 'Name its operationId, or such as "GET /pets".')
    },
  }
}

/** Reads the value of `--limit`. Throws a Failure unless it is a positive whole number. */
export function limitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const limit = Number(text)
  if (Number.isInteger(limit) && limit > 0) return limit
  throw new Failure(`--limit ${text}: expected a whole number from 1.`)
}
