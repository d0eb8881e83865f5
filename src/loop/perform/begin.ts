import { LEDGER_MS, toAmounts, limitedAmounts, type Measure, MEASURES, periodOf } from '../../contract/budget.ts'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import type { RunFact } from '../../contract/event.ts'
import { removalsOf, type RunRequest } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import { edgeName } from '../../contract/tool-names.ts'
import { READ_RESULT, type Tool } from '../../contract/tool.ts'
import { namesOnOffer } from '../decide/admit.ts'
import { HookFailure } from './hooks.ts'
import { hookContext, type Running, type RunPorts } from '../running.ts'
import { ownUsage, type RunState } from '../state.ts'
import { reductionOf } from '../window/planner.ts'

/**
 * Begins a step with the tools that the hooks choose. A tool that was not on offer before joins the run if it is found,
 * with its current definition pinned; otherwise it is left out.
 */
export async function beginStep(running: Running, step: number): Promise<void> {
  const { state, commit, flush, find, tools } = running
  const chosen = await chooseTools(running)
  const before = namesOnOffer(state)
  if (chosen.length === before.length && chosen.every((tool, index) => tool === before[index])) {
    return commit([{ type: 'step.started', step }])
  }
  // What was put aside can be read whenever a hook offers that.
  const all = new Set([...before, READ_RESULT])
  const hookTools = chosen.filter((tool) => typeof tool !== 'string')
  const names = chosen.map((tool) => (typeof tool === 'string' ? tool : tool.definition.name))
  const removals = removalsOf(state.request.selection)
  const missing = names.filter(
    (name) =>
      !all.has(name) && !removals.includes(name) && !hookTools.some(({ definition }) => definition.name === name),
  )
  if (missing.length > 0) flush()
  const foundTools = missing.length === 0 ? [] : ((await find?.(missing)) ?? [])
  const newTools = [...hookTools, ...foundTools].filter(({ definition }) => !all.has(definition.name))
  for (const tool of [...hookTools, ...foundTools]) tools.set(tool.definition.name, tool)
  for (const { definition } of newTools) all.add(definition.name)
  const active = [...new Set(names)].filter((name) => all.has(name))
  const added: RunFact = { type: 'tools.added', tools: newTools.map(({ definition }) => definition) }
  commit([...(newTools.length > 0 ? [added] : []), { type: 'step.started', step, tools: active }])
}

/** Adds the tools that hooks bring to a step that began before a crash: calls of them may be in flight. */
export async function restoreTools(running: Running): Promise<void> {
  for (const tool of await chooseTools(running)) {
    if (typeof tool !== 'string') running.tools.set(tool.definition.name, tool)
  }
}

/** Asks the hooks for the tools of the step: names, and tools that the hooks bring. */
async function chooseTools(running: Running): Promise<readonly (string | Tool)[]> {
  const { state, loop, flush, find = async () => [] } = running
  let chosen: readonly (string | Tool)[] = namesOnOffer(state)
  try {
    for (const hook of loop.hooks ?? []) {
      if (!hook.activate) continue
      const names = chosen.map((tool) => (typeof tool === 'string' ? tool : tool.definition.name))
      const hookTools = new Map(
        chosen.flatMap((tool) => (typeof tool === 'string' ? [] : [[tool.definition.name, tool]])),
      )
      const { tools: earlierTools = [] } = reductionOf(running) ?? {}
      const { offered, added } = state
      const choice = hook.activate(names, { ...hookContext(running), offered, added, earlierTools, find })
      // Anything but an array is a promise; `instanceof Promise` would miss that of an RPC stub.
      if (!Array.isArray(choice)) flush()
      const next = await choice
      if (next === names) continue
      chosen = next.map((tool) => (typeof tool === 'string' ? (hookTools.get(tool) ?? edgeName(tool)) : tool))
    }
  } catch (error) {
    throw new HookFailure(error)
  }
  return chosen
}

/**
 * Whether the run needs another share of its key's budget before it continues: what is left of its own is less than a
 * step, or it has expired. A run that is about to end needs none.
 */
export function needsShare({ state, drawBudget, now }: Running): boolean {
  const { request, status, step, finished, limit } = state
  const { budget = request.budget } = state
  if (!drawBudget || !budget || status !== 'running' || finished || limit) return false
  if (step?.answer && step.calls.every((call) => call.status === 'settled')) return false
  return now() >= (budget.until ?? Infinity) || MEASURES.some((name) => isNearlyUsed(state, name))
}

/** Draws another share. If nothing is left, the run ends as at a limit. */
export async function drawShare({ state, drawBudget, flush }: Running): Promise<void> {
  flush()
  const { budget = state.request.budget ?? {} } = state
  const nearlyUsed = MEASURES.filter((name) => isNearlyUsed(state, name))
  const NOTHING = -1
  const rest = limitedAmounts(budget, (name, amount) =>
    nearlyUsed.length === 0 || nearlyUsed.includes(name) ? NOTHING : amount,
  )
  state.budget = (await drawBudget?.(state)) ?? rest
}

/** Whether less is left of the run's share than what its steps use on average. */
function isNearlyUsed(state: RunState, name: Measure): boolean {
  const { request, budget = request.budget, steps } = state
  const used = toAmounts(ownUsage(state))[name]
  return used + used / Math.max(1, steps) > (budget?.[name] ?? Infinity)
}

/**
 * Draws shares from the ledger of the key's budget, which is told what the run has used so far. If it does not answer, the
 * run continues with what it has, and asks again before its next step.
 */
export function budgetPort(setup: Setup, { runId, caller, budget: first }: RunRequest): Pick<RunPorts, 'drawBudget'> {
  const { directories, report } = setup
  const { tenant, key } = caller
  const budget = termsOfCaller(setup, caller)?.budget
  if (!first || !budget || key === undefined || MEASURES.every((name) => budget[name] === undefined)) return {}
  return {
    drawBudget: async (state) => {
      const { steps, budget: current = first } = state
      const now = Date.now()
      const used = toAmounts(ownUsage(state))
      const request = {
        ...{ budget, run: runId },
        // Enough for two steps, so that it does not draw before each of them.
        ...(steps > 0 && { least: limitedAmounts(budget, (name) => (2 * used[name]) / steps) }),
        ...(used.tokens > 0 && { spend: { run: runId, key, at: now, ...used } }),
      }
      try {
        const directory = directories.getByName(tenant)
        const { from } = periodOf(budget.per, now)
        const { lease } = await withDeadline(LEDGER_MS, directory.spendTotals(key, from, request))
        return lease && { ...limitedAmounts(lease.share, (name, share) => used[name] + share), until: lease.until }
      } catch (error) {
        report({ event: 'budget.unknown', tenant, key, runId, detail: messageOf(error) })
        return { ...current, until: now }
      }
    },
  }
}
