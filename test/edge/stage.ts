import { existsSync } from 'node:fs'
import { createTestHarness, type TestHarness } from 'wrangler'

const isThere = (name: string) => existsSync(`tools/${name}/wrangler.toml`)

/** The sample tools that have not been deleted from this repository. */
const TOOLS = ['clock', 'alarm', 'calculator', 'weather', 'bookings', 'mail', 'web'].filter(isThere)
const CUSTOMERS = ['customers'].filter(isThere).map((name) => ({ configPath: `tools/${name}/wrangler.toml` }))

/** A request as `fetch` takes it, with `json` for its body. */
export interface Ask {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly json?: unknown
  readonly body?: string | Uint8Array
}

/** The edge and its tool Workers on real workerd, from their real configuration. */
export interface Stage {
  readonly url: URL
  readonly server: TestHarness
  ask(path: string, ask?: Ask): Promise<Response>
  close(): Promise<void>
}

/**
 * Starts the edge with these variables. The binding `TOOL_CUSTOMERS` leads to the rogue tool Worker of the fixtures when
 * `rogue` is set; definitions with code are of use when `code` is, in isolates as it says.
 */
export async function startStage(
  vars: Record<string, string>,
  { rogue = false, code = false }: { rogue?: boolean; code?: boolean | 'call' } = {},
): Promise<Stage> {
  const server = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      { configPath: 'wrangler.toml', vars, ...(rogue && { bindingOverrides: { TOOL_CUSTOMERS: 'rogue' } }) },
      ...TOOLS.map((name) => ({ configPath: `tools/${name}/wrangler.toml` })),
      {
        configPath: code ? 'test/fixtures/code-tools/wrangler.toml' : 'tools/definitions/wrangler.toml',
        ...(code === 'call' && { vars: { CODE_ISOLATES: 'call' } }),
      },
      ...(rogue ? [{ configPath: 'test/fixtures/rogue/wrangler.toml' }] : CUSTOMERS),
    ],
  })
  const { url } = await server.listen()
  return {
    url,
    server,
    ask: (path, { method, headers, json, body } = {}) => {
      const content = json === undefined ? body : JSON.stringify(json)
      return fetch(new URL(path, url), {
        method: method ?? (content === undefined ? 'GET' : 'POST'),
        headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(content !== undefined && { body: content }),
      })
    },
    close: () => server.close(),
  }
}

/** The `data:` values of an event stream, decoded; `[DONE]` stays text. */
export async function readEvents(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text()
  return text
    .split('\n\n')
    .map((frame) => /^data: (.*)$/m.exec(frame)?.[1])
    .filter((data) => data !== undefined)
    .map((data) => (data === '[DONE]' ? { done: true } : JSON.parse(data)))
}
