import type { Repeat, StartRequest } from '../../contract/conversation.ts'
import type { Setup } from '../../contract/setup.ts'
import { shardOf } from '../../contract/shard.ts'
import type { StoredRun } from '../store/runs.ts'

/**
 * Builds the request that repeats an earlier run, perhaps for another caller: with that caller's trusted values, under
 * the edge's current rules, and with the current definitions of the run's tools, as far as that caller may know of them.
 */
export async function repeatedRequest(
  setup: Setup,
  { request: original, tools: offered }: StoredRun,
  repeat: Repeat,
): Promise<Pick<StartRequest, 'run' | 'tools'>> {
  const { fingerprint: _fingerprint, budget: _budget, trusted: _trusted, chosenAt: _chosenAt, ...terms } = original
  const { taintRule: _taintRule, trace: _trace, shard: _shard, ...request } = terms
  const { taintRule, pinnedContext, directoryShards } = setup.config
  const shard = shardOf(request.conversation ?? repeat.runId, directoryShards)
  const trusted = setup.trusted?.(repeat.caller)
  const names = offered.map(({ name }) => name)
  const tools = names.length === 0 ? [] : await setup.tools(repeat.caller).find(names)
  const byName = new Map(tools.map(({ definition }) => [definition.name, definition]))
  return {
    run: {
      ...request,
      context: { ...request.context, ...pinnedContext },
      ...(!taintRule && { taintRule }),
      ...repeat,
      ...(trusted && { trusted }),
      ...(shard > 0 && { shard }),
    },
    tools: JSON.stringify(names.flatMap((name) => byName.get(name) ?? [])),
  }
}
