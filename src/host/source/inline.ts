import type { Tool, ToolSource } from '../../contract/tool.ts'
import { type DefinedTool, toolsByName } from '../../tool/define.ts'
import { toolChanged } from '../../tool/pinned-tools.ts'
import { runContext } from '../../tool/run-context.ts'

export interface InlineOptions<Env> {
  /** The bindings and variables that the tools get. */
  readonly env: Env
  /** Whether a tool is offered by default. Default: all are. */
  readonly offered?: (name: string) => boolean
  /** The name by which the operator knows the source of these tools. Default `inline`. */
  readonly place?: string
}

/**
 * Makes a source of tools that run in the edge's own Worker, for a deployment of one Worker. The same tool may come
 * twice; throws a TypeError at once for two tools of one name.
 */
export function inlineSource<Env>(tools: readonly DefinedTool<Env>[], options: InlineOptions<Env>): ToolSource {
  const byName = toolsByName(tools)
  const { env, offered = () => true, place = 'inline' } = options
  const toTool = async (tool: DefinedTool<Env>): Promise<Tool> => {
    const definition = await tool.describe()
    const { name, hash } = definition
    const { call, status, undo, poll } = tool
    return {
      definition,
      origin: 'inline',
      place,
      offered: offered(name),
      call: async (request, control) =>
        request.hash === hash ? call(request.arguments, runContext(request, env, control)) : toolChanged(name),
      ...(status && { status: (request) => status(request.arguments, runContext(request, env)) }),
      ...(undo && { undo: (request, outcome) => undo(request.arguments, outcome, runContext(request, env)) }),
      ...(poll && { poll: (request, state) => poll(request.arguments, state, runContext(request, env)) }),
    }
  }
  const all = [...byName.values()]
  const find = (names: readonly string[]) => Promise.all(all.filter(({ name }) => names.includes(name)).map(toTool))
  return {
    find,
    list: async () => ({ tools: await Promise.all(all.map(toTool)), unavailable: [] }),
    offered: () => find([...byName.keys()].filter(offered)),
  }
}
