/**
 * Does `work` with a signal that aborts as `signal` does, and after so many milliseconds. Rejects with {@link OutOfTime}
 * where that was why it failed. The timer ends with the work: that of AbortSignal.timeout stands until it fires, and
 * keeps a Durable Object in memory.
 */
export async function withTimeLimit<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new OutOfTime(`no answer within ${ms} ms`)), ms)
  try {
    return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal)
  } catch (error) {
    // What a runtime rejects with differs; why it aborted does not.
    throw late.signal.aborted && !signal?.aborted ? late.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** The reason of a signal whose time was up. */
export class OutOfTime extends Error {}
