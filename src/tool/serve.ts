import { WorkerEntrypoint } from 'cloudflare:workers'
import {
  type CallStatus,
  type ToolControl,
  type ToolDescription,
  type ToolOutcome,
  type ToolRequest,
  type ToolService,
  type ToolSuccess,
  failure,
} from '../contract/tool.ts'
import { isObject } from '../contract/json.ts'
import { type DefinedTool, toolsByName } from './define.ts'
import { cannotUndo } from './pinned-tools.ts'
import { runContext } from './run-context.ts'

export type ToolWorker<Env> = new (ctx: ExecutionContext, env: Env) => WorkerEntrypoint<Env> & Required<ToolService>

/**
 * Makes the Worker of these tools: `export default serveTools(now, shift)`. It answers `describe()`, `call()`,
 * `status()`, `undo()` and `poll()` over its service binding, and nothing over HTTP. The same tool may come twice; throws a
 * TypeError, when the Worker starts, for two tools of one name.
 */
export function serveTools<Env>(...tools: readonly DefinedTool<Env>[]): ToolWorker<Env> {
  const byName = toolsByName(tools)
  return class extends WorkerEntrypoint<Env> {
    async describe(): Promise<ToolDescription> {
      const tools = await Promise.all([...byName.values()].map((tool) => tool.describe()))
      return { contract: 1, tools, checksOutput: true }
    }

    async call(request: ToolRequest, control?: ToolControl): Promise<ToolOutcome> {
      const tool = byName.get(request.name)
      if (!tool) return unknownTool(request)
      const { hash } = await tool.describe()
      if (hash !== request.hash) return failure('schema_mismatch', `The tool "${request.name}" has changed.`)
      const ordered = control && inOrder(control)
      const outcome = await tool.call(request.arguments, runContext(request, this.env, ordered?.control))
      await ordered?.flushed()
      return { ...outcome, ...deploymentOf(this.env) }
    }

    // Status, undo and poll do not check the hash: they are about an earlier call, whatever the definition is by now.
    async status(request: ToolRequest): Promise<CallStatus> {
      const { name, arguments: input } = request
      return (await byName.get(name)?.status?.(input, runContext(request, this.env))) ?? 'unknown'
    }

    async undo(request: ToolRequest, outcome: ToolSuccess): Promise<ToolOutcome> {
      const { name, arguments: input } = request
      const reply = await byName.get(name)?.undo?.(input, outcome, runContext(request, this.env))
      return reply ?? cannotUndo(name)
    }

    async poll(request: ToolRequest, state?: string): Promise<ToolOutcome> {
      const { name, arguments: input } = request
      const outcome = await byName.get(name)?.poll?.(input, state, runContext(request, this.env))
      return outcome ? { ...outcome, ...deploymentOf(this.env) } : unknownTool(request)
    }

    override fetch(): Response {
      return new Response('A tool Worker answers only over its service binding.\n', { status: 404 })
    }
  }
}

/** Returns the version of this Worker, as Cloudflare's version metadata has it, if it is bound under its usual name. */
function deploymentOf(env: unknown): { readonly deployment?: string } {
  const metadata: unknown = Reflect.get(Object(env), 'CF_VERSION_METADATA')
  if (!isObject(metadata)) return {}
  const { tag, id } = metadata
  const deployment = tag || id
  return typeof deployment === 'string' && deployment !== '' ? { deployment } : {}
}

/** Wraps a control so that `told` waits for the last progress report, and no outcome overtakes it. */
function inOrder(control: ToolControl): { readonly control: ToolControl; readonly flushed: () => Promise<void> } {
  let lastProgress = Promise.resolve()
  return {
    control: {
      whenAborted: () => control.whenAborted(),
      progress: (ordered) => (lastProgress = control.progress(ordered)),
    },
    // A progress report fails if the host is gone; the outcome is not affected.
    flushed: () => lastProgress.catch(() => {}),
  }
}

function unknownTool({ name }: ToolRequest): ToolOutcome {
  return failure('unknown_tool', `There is no tool "${name}" here.`)
}
