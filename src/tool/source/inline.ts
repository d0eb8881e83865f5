import type { Tool, ToolSource } from '../../contract/tool.ts'
import { changed } from '../pin.ts'
import { type DefinedTool, runContext } from '../define.ts'

export interface InlineOptions<Env> {
  /** The bindings and variables that the tools get. */
  readonly env: Env
  /** Which are offered by default. Default: all. */
  readonly offered?: (name: string) => boolean
}

/**
 * Tools that the edge carries in its own Worker, as a deployment of one Worker does. Throws a TypeError at once for
 * two tools of one name.
 */
export function inlineSource<Env>(tools: readonly DefinedTool<Env>[], options: InlineOptions<Env>): ToolSource {
  const names = tools.map((tool) => tool.name)
  if (new Set(names).size < tools.length) throw new TypeError('Two inline tools have one name')
  const { env, offered = () => true } = options
  const toTool = async (tool: DefinedTool<Env>): Promise<Tool> => {
    const definition = await tool.describe()
    const { name, hash } = definition
    return {
      definition,
      origin: 'inline',
      place: 'inline',
      offered: offered(name),
      call: async (request, control) =>
        request.hash === hash ? tool.call(request.arguments, runContext(request, env, control)) : changed(name),
    }
  }
  const find = (wanted: readonly string[]) => Promise.all(tools.filter(({ name }) => wanted.includes(name)).map(toTool))
  return {
    find,
    list: async () => ({ tools: await find(names), unavailable: [] }),
    offered: () => find(names.filter(offered)),
  }
}
