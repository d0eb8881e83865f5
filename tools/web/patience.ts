/**
 * Does `work` with a signal that aborts as `signal` does, and after so many milliseconds. The timer ends with the work:
 * that of AbortSignal.timeout would stand until it fires.
 */
export async function withPatience<Result>(
  milliseconds: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new OutOfTime(`no answer within ${milliseconds} ms`)), milliseconds)
  try {
    return await work(AbortSignal.any([signal, late.signal]))
  } catch (error) {
    // What a runtime rejects with differs; why it aborted does not.
    throw late.signal.aborted && !signal.aborted ? late.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** The reason of a signal whose time was up. */
export class OutOfTime extends Error {}
