import type { RunFact } from '../../contract/event.ts'
import type { Tool } from '../../contract/tool.ts'
import { edgeName } from '../../contract/wire-name.ts'
import { HookFailure } from './middleware.ts'
import { namesOnOffer } from '../decide/admit.ts'
import { hookContext, type Running } from '../running.ts'

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
  const all = new Set(before)
  const hookTools = chosen.filter((tool) => typeof tool !== 'string')
  const names = chosen.map((tool) => (typeof tool === 'string' ? tool : tool.definition.name))
  const missing = names.filter(
    (name) => !all.has(name) && !hookTools.some(({ definition }) => definition.name === name),
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
      const choice = hook.activate(names, { ...hookContext(running), offered: state.offered, find })
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
