import type { Repeat, StartRequest } from '../../contract/conversation.ts'
import type { Setup } from '../../contract/setup.ts'
import type { StoredRun } from '../store/runs.ts'

/**
 * Builds the request that repeats an earlier run, perhaps for another caller: with that caller's trusted values, and
 * with the current definitions of the run's tools, as far as that caller may know of them.
 */
export async function repeatedRequest(
  setup: Setup,
  { request: asked, tools: offered }: StoredRun,
  again: Repeat,
): Promise<Pick<StartRequest, 'run' | 'tools'>> {
  const { fingerprint: _fingerprint, budget: _budget, trusted: _trusted, chosenAt: _chosenAt, ...request } = asked
  const trusted = setup.trusted?.(again.caller)
  const names = offered.map(({ name }) => name)
  const found = names.length === 0 ? [] : await setup.tools(again.caller).find(names)
  const known = new Map(found.map(({ definition }) => [definition.name, definition]))
  return {
    run: { ...request, ...again, ...(trusted && { trusted }) },
    tools: names.flatMap((name) => known.get(name) ?? []),
  }
}
