import { Stopped } from '../failure.ts'

/** Returns a signal that the first SIGINT, SIGTERM or SIGHUP aborts, with a `Stopped`. The second one ends the process. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => stop.abort(new Stopped(signal)))
  }
  // The reader of the output has gone, as after `edgecall dev | head`.
  process.stdout.on('error', () => stop.abort(new Stopped('SIGPIPE')))
  return stop.signal
}
