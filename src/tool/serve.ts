import { WorkerEntrypoint } from 'cloudflare:workers'
import type { ToolControl, ToolDescription, ToolOutcome, ToolRequest } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { type DefinedTool, runContext } from './define.ts'

type ToolWorker<Env> = new (
  ctx: ExecutionContext,
  env: Env,
) => WorkerEntrypoint<Env> & {
  describe(): Promise<ToolDescription>
  call(request: ToolRequest, control?: ToolControl): Promise<ToolOutcome>
}

/**
 * The Worker of these tools: `export default serveTools(now, shift)`. It answers `describe()` and `call()` over its
 * service binding, and nothing over HTTP. Throws a TypeError at start for two tools of one name.
 */
export function serveTools<Env>(...tools: readonly DefinedTool<Env>[]): ToolWorker<Env> {
  const byName = new Map<string, DefinedTool<Env>>()
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new TypeError(`Two tools of this Worker are named "${tool.name}"`)
    byName.set(tool.name, tool)
  }
  return class extends WorkerEntrypoint<Env> {
    async describe(): Promise<ToolDescription> {
      return { contract: 1, tools: await Promise.all(tools.map((tool) => tool.describe())) }
    }

    async call(request: ToolRequest, control?: ToolControl): Promise<ToolOutcome> {
      const tool = byName.get(request.name)
      if (!tool) return failure('unknown_tool', `There is no tool "${request.name}" here.`)
      const { hash } = await tool.describe()
      if (hash !== request.hash) return failure('schema_mismatch', `The tool "${request.name}" has changed.`)
      return tool.call(request.arguments, runContext(request, this.env, control))
    }

    override fetch(): Response {
      return new Response('A tool Worker answers over its service binding alone.\n', { status: 404 })
    }
  }
}
