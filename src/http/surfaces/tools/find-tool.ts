import type { Context } from 'hono'
import type { Tool, ToolSource } from '../../../contract/tool.ts'
import { edgeName } from '../../../contract/wire-name.ts'
import type { EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'

/** Returns the tools that the caller may know of. */
export function callerTools(c: Context<EdgeEnv>): ToolSource {
  return c.env.setup.tools(c.env.caller)
}

/** Returns a tool. Throws a Problem 404 if there is none of this name that the caller may know of. */
export async function findTool(source: ToolSource, name: string): Promise<Tool> {
  const [tool] = await source.find([name])
  if (tool) return tool
  throw unknownToolProblem(name)
}

/** Returns the name of the tool in the path of a request, which may be the tool's own, such as `files.read`. */
export function toolNameOfPath({ req }: Context<EdgeEnv>): string {
  return edgeName(req.param('name') ?? '')
}

export function unknownToolProblem(name: string): Problem {
  return new Problem({ status: 404, code: 'unknown_tool', message: `There is no tool "${name}" at this edge.` })
}
