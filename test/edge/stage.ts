import { existsSync } from 'node:fs'
import { createTestHarness, type TestHarness } from 'wrangler'

/** Tools for tests that are about the edge, which stand in for the sample tools of the same names. */
const BASIC_TOOLS = ['calculator', 'clock', 'weather']

/** Returns whether these sample tools are in this repository: any of them may be deleted. */
export function hasSamples(...names: readonly string[]): boolean {
  return names.every((name) => existsSync(`tools/${name}/wrangler.toml`))
}

/** Returns the Workers of those of the sample tools that are in this repository. */
export function sampleWorkers(...names: readonly string[]): { configPath: string }[] {
  return names.filter((name) => hasSamples(name)).map((name) => ({ configPath: `tools/${name}/wrangler.toml` }))
}

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
 * Starts the edge with these variables. `samples` binds the sample tools themselves instead of basic ones, `rogue` binds
 * the rogue tool Worker of the fixtures as `TOOL_CUSTOMERS`, and `code` makes definitions with code available, in
 * isolates of the kind that it names.
 */
export async function startStage(
  vars: Record<string, string>,
  {
    rogue = false,
    code = false,
    samples = false,
  }: { rogue?: boolean; code?: boolean | 'call'; samples?: boolean } = {},
): Promise<Stage> {
  const basics = samples ? [] : BASIC_TOOLS
  const bindingOverrides = {
    ...Object.fromEntries(basics.map((name) => [`TOOL_${name.toUpperCase()}`, `basic-${name}`])),
    ...(rogue && { TOOL_CUSTOMERS: 'rogue' }),
  }
  const server = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      // Only tests of outages wait for models.
      { configPath: 'wrangler.toml', vars: { MODEL_WAIT_MS: '1', ...vars }, bindingOverrides },
      ...basics.map((name) => ({ configPath: `test/fixtures/basic-${name}/wrangler.toml` })),
      ...sampleWorkers('alarm', 'bookings', 'mail', 'web', ...(samples ? BASIC_TOOLS : [])),
      {
        configPath: code ? 'test/fixtures/code-tools/wrangler.toml' : 'tools/definitions/wrangler.toml',
        ...(code === 'call' && { vars: { CODE_ISOLATES: 'call' } }),
      },
      ...(rogue ? [{ configPath: 'test/fixtures/rogue/wrangler.toml' }] : sampleWorkers('customers')),
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
