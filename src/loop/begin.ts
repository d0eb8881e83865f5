import type { RunFact } from '../contract/event.ts'
import { HookFailure } from './around.ts'
import { namesOnOffer } from './decide.ts'
import { hookContext, type Running } from './running.ts'

/**
 * Begins a step with the tools that the hooks want in it. A name that was not on offer before joins the run where it is
 * found, pinned as it is now; one that is not found is left out.
 */
export async function begin(running: Running, step: number): Promise<void> {
  const { state, tools, loop, find, commit } = running
  const hooks = loop.hooks?.filter((hook) => hook.activate) ?? []
  if (hooks.length === 0) return commit([{ type: 'step.started', step }])
  const all = namesOnOffer(state)
  let names = all
  try {
    for (const hook of hooks) names = (await hook.activate?.(names, hookContext(running))) ?? names
  } catch (error) {
    throw new HookFailure(error)
  }
  const missing = names.filter((name) => !all.includes(name))
  const found = missing.length === 0 ? [] : ((await find?.(missing)) ?? [])
  for (const tool of found) tools.set(tool.definition.name, tool)
  const joined: RunFact[] =
    found.length === 0 ? [] : [{ type: 'tools.added', tools: found.map((tool) => tool.definition) }]
  const known = new Set([...all, ...found.map((tool) => tool.definition.name)])
  const active = [...new Set(names)].filter((name) => known.has(name))
  commit([...joined, { type: 'step.started', step, tools: active }])
}
