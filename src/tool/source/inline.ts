import type { Tool, ToolContext, ToolControl, ToolListing, ToolSource } from '../../contract/tool.ts'
import { changed } from '../changed.ts'
import type { DefinedTool, RunContext } from '../define.ts'

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
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  if (byName.size < tools.length) throw new TypeError('Two inline tools have one name')
  const { env, offered = () => true } = options
  const toTool = async (tool: DefinedTool<Env>): Promise<Tool> => {
    const definition = await tool.describe()
    const { name, hash } = definition
    return {
      definition,
      origin: 'inline',
      offered: offered(name),
      call: async (request, control) =>
        request.hash === hash ? tool.call(request.arguments, runContext(request.context, env, control)) : changed(name),
    }
  }
  return {
    list: async (): Promise<ToolListing> => ({ tools: await Promise.all(tools.map(toTool)), unavailable: [] }),
    find: (names) => Promise.all([...new Set(names)].flatMap((name) => byName.get(name) ?? []).map(toTool)),
  }
}

function runContext<Env>(context: ToolContext, env: Env, control: ToolControl): RunContext<Env> {
  const abort = new AbortController()
  control.whenAborted().then(
    (reason) => reason !== 'settled' && abort.abort(new Error(reason)),
    () => {},
  )
  return {
    ...context,
    env,
    signal: abort.signal,
    progress: (news) => {
      control.progress(typeof news === 'string' ? { message: news } : news).catch(() => {})
    },
  }
}
