import type { Refusal, Repeat, StartRequest } from '../../contract/conversation.ts'
import { lowerLimits } from '../../contract/limits.ts'
import type { RunRequest } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { shardOf } from '../../contract/placement.ts'
import type { StoredRun } from '../store/runs.ts'
import { refusalOf } from './cancel-run.ts'

/**
 * Builds the request that repeats an earlier run, perhaps for another caller: with that caller's trusted values, under
 * the edge's current rules, and with the current definitions of the run's tools, as far as that caller may know of them.
 * Returns a refusal if a hook of the edge refuses a request that a copy brought.
 */
export async function repeatedRequest(
  setup: Setup,
  { request: original, tools: offered }: StoredRun,
  repeat: Repeat,
): Promise<Pick<StartRequest, 'run' | 'tools'> | Refusal> {
  const { fingerprint: _fingerprint, budget: _budget, trusted: _trusted, chosenAt: _chosenAt, ...terms } = original
  const { taintRule: _taintRule, trace: _trace, shard: _shard, agent: _agent, isFromCopy, ...request } = terms
  const { taintRule, pinnedContext, directoryShards, limits } = setup.config
  const shard = shardOf(request.conversation ?? repeat.runId, directoryShards)
  const trusted = setup.trusted?.(repeat.caller)
  const names = offered.map(({ name }) => name)
  const tools = names.length === 0 ? [] : await setup.tools(repeat.caller).find(names)
  const byName = new Map(tools.map(({ definition }) => [definition.name, definition]))
  const run: RunRequest = {
    ...request,
    context: { ...request.context, ...pinnedContext },
    limits: lowerLimits(limits, request.limits),
    ...(!taintRule && { taintRule }),
    ...repeat,
    ...(trusted && { trusted }),
    ...(shard > 0 && { shard }),
  }
  const acceptedRun = isFromCopy ? await acceptRequest(setup, run) : run
  if (typeof acceptedRun === 'string') return refusalOf('refused', acceptedRun)
  return { run: acceptedRun, tools: JSON.stringify(names.flatMap((name) => byName.get(name) ?? [])) }
}

/** Does with a request that a copy brought what the edge does with each: with its system text, through its hooks. */
async function acceptRequest({ config, loop }: Setup, request: RunRequest): Promise<RunRequest | string> {
  const { system: first = '' } = config
  const { system = '' } = request
  const text = system.startsWith(first) ? system : `${first}\n\n${system}`
  let run: RunRequest = { ...request, ...(text !== '' && { system: text }) }
  for (const hook of loop?.hooks ?? []) {
    const next = await hook.accept?.(run)
    if (typeof next === 'string') return next
    if (next) run = next
  }
  return run
}
