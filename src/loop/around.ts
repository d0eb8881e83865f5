/** One way around something: does its part before and after, and may leave `next` out or call it with something else. */
export type Around<In, Out> = (input: In, next: (input: In) => Promise<Out>) => Promise<Out>

/** An error that came from a hook itself, not from what it stands around. */
export class HookFailure extends Error {
  constructor(cause: unknown) {
    super('A hook failed', { cause })
    this.name = 'HookFailure'
  }
}

/** What callers and models are told of it: why is for operators. */
export const HOOK_FAILED = { code: 'hook_failed', message: 'A hook of the edge failed.' } as const

/** Asks other parts of the setup as hooks are asked. Rejects with a HookFailure for what they throw. */
export async function asHook<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof HookFailure ? error : new HookFailure(error)
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
