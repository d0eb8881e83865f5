/** One way around something: does its part before and after, and may leave `next` out or call it with something else. */
export type Around<In, Out> = (input: In, next: (input: In) => Promise<Out>) => Promise<Out>

/** An error that came from a hook itself, not from what it stands around. */
export class HookFailure extends Error {
  constructor(cause: unknown) {
    super('A hook failed', { cause })
    this.name = 'HookFailure'
  }
}

/** Several ways around one thing, the first outermost. Rejects with a HookFailure for what a way itself throws. */
export function around<In, Out>(
  ways: readonly Around<In, Out>[],
  inmost: (input: In) => Promise<Out>,
): (input: In) => Promise<Out> {
  if (ways.length === 0) return inmost
  const inner = new Set<unknown>()
  const core = async (input: In) => {
    try {
      return await inmost(input)
    } catch (error) {
      inner.add(error)
      throw error
    }
  }
  const whole = ways.reduceRight<typeof core>((next, way) => (input) => way(input, next), core)
  return async (input) => {
    try {
      return await whole(input)
    } catch (error) {
      throw inner.has(error) ? error : new HookFailure(error)
    }
  }
}
