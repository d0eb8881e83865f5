import { RpcTarget } from 'cloudflare:workers'
import type { Progress, ToolControl, ToolRequest, ToolService } from '../../../src/contract/tool.ts'

/** What a test posts: `describe()` without a request, else `call(request)`, aborted after so many milliseconds. */
export interface Ask {
  readonly binding: string
  readonly request?: ToolRequest
  readonly abortAfterMs?: number
}

class Control extends RpcTarget implements ToolControl {
  readonly news: Progress[] = []
  readonly #abortAfterMs: number | undefined

  constructor(abortAfterMs: number | undefined) {
    super()
    this.#abortAfterMs = abortAfterMs
  }

  whenAborted(): Promise<string> {
    return new Promise((resolve) => {
      if (this.#abortAfterMs !== undefined) setTimeout(resolve, this.#abortAfterMs, 'enough')
    })
  }

  async progress(progress: Progress): Promise<void> {
    this.news.push(progress)
  }
}

/** Forwards a question to a tool Worker over its binding, and answers what came back and what was told on the way. */
export default {
  async fetch(incoming, env) {
    const { binding, request, abortAfterMs } = await incoming.json<Ask>()
    const tool = env[binding]
    if (!tool) return new Response('no such binding', { status: 404 })
    if (!request) return Response.json(await tool.describe())
    const control = new Control(abortAfterMs)
    return Response.json({ outcome: await tool.call(request, control), news: control.news })
  },
} satisfies ExportedHandler<Record<string, ToolService>>
