import { pause } from '../../contract/pause.ts'
import type { ToolSource } from '../../contract/tool.ts'

/** How often tools are compared with the earlier ones, in milliseconds. Most of what is read comes from caches. */
const CHECK_MS = 1000
/** How many checks there are between two signs of life, by which a disconnected client is noticed. */
const QUIET_CHECKS = 15
/** How long changes are reported. Then the client must send a new request, whose key is checked again. */
const MOST_MS = 600_000

/**
 * Reports each change of the tools of a source that has `texts`, until the signal aborts or ten minutes have passed.
 * `isAlive` is called in between, so that a stream without changes is not silent.
 */
export async function watchTools(
  source: ToolSource,
  signal: AbortSignal,
  { onChange, isAlive }: { readonly onChange: () => void; readonly isAlive: () => void },
): Promise<void> {
  const read = async () => source.texts?.().catch(() => undefined)
  let last = await read()
  for (let checks = 1; checks <= MOST_MS / CHECK_MS; checks++) {
    await pause(CHECK_MS, signal)
    if (signal.aborted) return
    const current = await read()
    if (checks % QUIET_CHECKS === 0) isAlive()
    if (current === undefined || current === last) continue
    if (last !== undefined) onChange()
    last = current
  }
}
