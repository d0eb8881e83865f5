import type { LoopSetup } from '../../contract/hook.ts'
import type { RunRequest, ToolSelection } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import type { Tool, ToolSource } from '../../contract/tool.ts'
import { Problem } from '../problem.ts'

/**
 * Returns the edge's tools on offer in a run, with those that the setup's hooks add. Throws a Problem for a selected
 * name that no source knows, and for a client tool that has the name of one of the edge's tools.
 */
export async function offer({ tools, loop }: Setup, run: RunRequest): Promise<readonly Tool[]> {
  const { selection } = run
  const source = tools(run.caller)
  const [selected, provided, clashes] = await Promise.all([
    select(source, selection),
    provide(source, loop, run),
    run.clientTools.length === 0 ? [] : source.find(run.clientTools.map((tool) => tool.name)),
  ])
  const [clash] = clashes
  if (clash) {
    const message = `The tool "${clash.definition.name}" is known to the edge and sent by the caller; rename yours.`
    throw new Problem({ status: 400, code: 'tool_name_conflict', message, param: 'tools' })
  }
  // A list of names is complete: hooks add nothing to it.
  if (selection && 'length' in selection) return selected
  const removed = selection?.remove ?? []
  const known = new Set([...removed, ...selected.map((tool) => tool.definition.name)])
  return [...selected, ...provided.filter((tool) => !known.has(tool.definition.name))]
}

/** Returns the tools that the hooks add. Names that no source knows are left out. */
async function provide(source: ToolSource, loop: LoopSetup | undefined, run: RunRequest): Promise<readonly Tool[]> {
  const names = await Promise.all(loop?.hooks?.map(async (hook) => (await hook.offer?.(run)) ?? []) ?? [])
  const all = [...new Set(names.flat())]
  return all.length === 0 ? [] : source.find(all)
}

async function select(source: ToolSource, selection: ToolSelection | undefined): Promise<readonly Tool[]> {
  if (selection === undefined) return source.offered()
  if (!('length' in selection)) {
    const { add = [], remove = [] } = selection
    const kept = (await source.offered()).filter(({ definition }) => !remove.includes(definition.name))
    const missing = add.filter((name) => !kept.some(({ definition }) => definition.name === name))
    return [...kept, ...(await named(source, missing))]
  }
  return named(source, selection)
}

async function named(source: ToolSource, names: readonly string[]): Promise<readonly Tool[]> {
  if (names.length === 0) return []
  const found = new Map((await source.find(names)).map((tool) => [tool.definition.name, tool]))
  return [...new Set(names)].map((name) => {
    const tool = found.get(name)
    if (tool) return tool
    const message = `There is no tool "${name}" at this edge.`
    throw new Problem({ status: 400, code: 'unknown_tool', message, param: 'tools' })
  })
}
