import { shellCommand } from '../command/shell.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EdgeAddress, problemOf, send } from '../edge.ts'
import { Failure } from '../failure.ts'
import { type ListedTool, listAllTools } from '../listing.ts'

/** A new workers.dev address takes some seconds until it answers. */
const WAITS_MS = [0, 500, 1000, 2000, 4000, 8000]

/**
 * Asks a deployed edge for its health and, with a key, whether it has the tools that were deployed. Returns what an
 * operator should know, such as tools that are not available. Throws a Failure if the edge does not answer.
 */
export async function smoke(
  edge: EdgeAddress,
  tools: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const health = await healthOf(edge, signal)
  if (health.status === 503) return [`${edge.url} answers 503: ${(await problemOf(health)).message}`]
  if (!health.ok) throw new Failure(`${edge.url}/health answers ${health.status}.`, ADVICE)
  await health.body?.cancel()
  if (edge.key === undefined) return []
  let listing: ReadonlyMap<string, ListedTool>
  try {
    listing = new Map((await listAllTools(edge, signal)).map((tool) => [tool.name, tool]))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return [`${edge.url} does not list its tools: ${error.message}`]
  }
  return tools.flatMap((name) => {
    const { available, reason } = listing.get(name) ?? {}
    if (available === undefined) return [`${edge.url} does not list the tool ${name}.`]
    return available ? [] : [`${name} is not available: ${reason ?? 'no reason given'}`]
  })
}

const ADVICE = `Run \`${shellCommand('rollback')}\` to restore the previous deployment, or see \`${shellCommand('tail')}\` for the reason.`

async function healthOf(edge: EdgeAddress, signal: AbortSignal): Promise<Response> {
  let failure: unknown
  for (const wait of WAITS_MS) {
    await sleep(wait, undefined, { signal })
    try {
      const answer = await send(edge, { method: 'GET', path: '/health' }, signal)
      if (answer.status !== 404) return answer
      failure = new Failure(`${edge.url}/health answers 404.`, ADVICE)
    } catch (error) {
      signal.throwIfAborted()
      failure = error
    }
  }
  throw failure
}
