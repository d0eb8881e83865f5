import { WorkerEntrypoint } from 'cloudflare:workers'
import type {
  CallStatus,
  ToolControl,
  ToolDescription,
  ToolOutcome,
  ToolRequest,
  ToolService,
  ToolSuccess,
} from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import type { DefinedTool } from './define.ts'
import { cannotUndo } from './pinned-tools.ts'
import { runContext } from './run-context.ts'
import { toolsByName } from './tools-by-name.ts'

type ToolWorker<Env> = new (ctx: ExecutionContext, env: Env) => WorkerEntrypoint<Env> & Required<ToolService>

/**
 * Makes the Worker of these tools: `export default serveTools(now, shift)`. It answers `describe()`, `call()`,
 * `status()` and `undo()` over its service binding, and nothing over HTTP. The same tool may come twice; throws a
 * TypeError, when the Worker starts, for two tools of one name.
 */
export function serveTools<Env>(...tools: readonly DefinedTool<Env>[]): ToolWorker<Env> {
  const byName = toolsByName(tools)
  return class extends WorkerEntrypoint<Env> {
    async describe(): Promise<ToolDescription> {
      return { contract: 1, tools: await Promise.all([...byName.values()].map((tool) => tool.describe())) }
    }

    async call(request: ToolRequest, control?: ToolControl): Promise<ToolOutcome> {
      const tool = byName.get(request.name)
      if (!tool) return unknown(request)
      const { hash } = await tool.describe()
      if (hash !== request.hash) return failure('schema_mismatch', `The tool "${request.name}" has changed.`)
      const news = control && inOrder(control)
      const outcome = await tool.call(request.arguments, runContext(request, this.env, news?.control))
      await news?.told()
      return outcome
    }

    // Status and undo do not check the hash: they are about an earlier call, whatever the definition is by now.
    async status(request: ToolRequest): Promise<CallStatus> {
      const { name, arguments: sent } = request
      return (await byName.get(name)?.status?.(sent, runContext(request, this.env))) ?? 'unknown'
    }

    async undo(request: ToolRequest, outcome: ToolSuccess): Promise<ToolOutcome> {
      const { name, arguments: sent } = request
      const undone = await byName.get(name)?.undo?.(sent, outcome, runContext(request, this.env))
      return undone ?? cannotUndo(name)
    }

    override fetch(): Response {
      return new Response('A tool Worker answers over its service binding alone.\n', { status: 404 })
    }
  }
}

/** Wraps a control so that `told` waits for the last progress report, and no outcome overtakes it. */
function inOrder(control: ToolControl): { readonly control: ToolControl; readonly told: () => Promise<void> } {
  let last = Promise.resolve()
  return {
    control: {
      whenAborted: () => control.whenAborted(),
      progress: (news) => (last = control.progress(news)),
    },
    // A report fails if the host is gone; the outcome is not affected.
    told: () => last.catch(() => {}),
  }
}

function unknown({ name }: ToolRequest): ToolOutcome {
  return failure('unknown_tool', `There is no tool "${name}" here.`)
}
