import type { ClientTool, ToolSelection } from '../contract/run.ts'
import type { Tool, ToolSource } from '../contract/tool.ts'
import { Problem } from './problem.ts'

/**
 * The edge's tools on offer in a request. Throws a Problem for a name that no source knows, and for a name that both
 * the edge and the caller know.
 */
export async function offer(
  source: ToolSource,
  selection: ToolSelection | undefined,
  clientTools: readonly ClientTool[],
): Promise<readonly Tool[]> {
  const [tools, clashes] = await Promise.all([
    select(source, selection),
    clientTools.length === 0 ? [] : source.find(clientTools.map((tool) => tool.name)),
  ])
  const [clash] = clashes
  if (clash) {
    const message = `The tool "${clash.definition.name}" is known to the edge and sent by the caller; rename yours.`
    throw new Problem({ status: 400, code: 'tool_name_conflict', message, param: 'tools' })
  }
  return tools
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
