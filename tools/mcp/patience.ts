/** Does `work` with a signal that aborts as `signal` does, and after so many milliseconds. */
export async function within<Result>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController()
  // The timer ends with the work: that of AbortSignal.timeout would stand until it fires.
  const timer = setTimeout(() => late.abort(new OutOfTime(`no answer within ${milliseconds} ms`)), milliseconds)
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
