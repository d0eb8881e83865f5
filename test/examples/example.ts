import { readdirSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import { createTestHarness } from 'wrangler'
import { chunksOf, type ModelCall, type ModelServer, startModelServer } from '../fixtures/model-server.ts'

const ROOT = new URL('../..', import.meta.url).pathname

/** What a scripted model does next: calls a tool, or says a text. */
export type Move = { readonly tool: string; readonly arguments?: object } | string

export interface Example {
  readonly url: URL
  readonly model: ModelServer
  /** Sends JSON, and returns the JSON of the response. */
  ask(path: string, body?: object, headers?: Record<string, string>): Promise<any>
}

/**
 * Starts a project of `examples/` on workerd until the test has finished: its edge, with a model that follows a script,
 * and its tool Workers. `vars` are those of the edge, or by the folder of a tool Worker those of that Worker.
 */
export async function startExample(
  name: string,
  next: (call: ModelCall, index: number) => Move | Promise<Move>,
  vars: { readonly edge?: Record<string, string>; readonly tools?: Record<string, Record<string, string>> } = {},
): Promise<Example> {
  const model = await startModelServer(async (call, index) => {
    const move = await next(call, index)
    const usage = { inputTokens: 10, outputTokens: 5 }
    if (typeof move === 'string') return { chunks: chunksOf({ text: move, usage }) }
    const { tool, arguments: args = {} } = move
    return { chunks: chunksOf({ calls: [{ tool, arguments: JSON.stringify(args) }], usage }) }
  })
  onTestFinished(() => model.close())
  const root = `${ROOT}examples/${name}`
  const edge = { AUTH: 'open', MODEL: 'openai/scripted', OPENAI_BASE_URL: model.baseUrl, ...vars.edge }
  const server = createTestHarness({
    root,
    workers: [
      { configPath: 'wrangler.toml', vars: edge },
      ...readdirSync(`${root}/tools`).map((tool) => ({
        configPath: `tools/${tool}/wrangler.toml`,
        vars: vars.tools?.[tool] ?? {},
      })),
    ],
  })
  onTestFinished(() => server.close())
  const { url } = await server.listen()
  return {
    url,
    model,
    ask: async (path, body, headers = {}) => {
      const init = body && { method: 'POST', body: JSON.stringify(body) }
      const response = await fetch(new URL(path, url), {
        ...init,
        headers: { 'content-type': 'application/json', ...headers },
      })
      return response.json()
    },
  }
}

/** The texts of the results of tools in a request to the model, oldest first. */
export function resultsIn({ body }: ModelCall): string[] {
  return body.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
}
