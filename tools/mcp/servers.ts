import * as v from 'valibot'
import { checkAddress } from './address.ts'
import { isObject } from './json.ts'

/** A server whose tools are brought in. */
export interface McpServer {
  /** What operators know it by; tools whose names others have too are told apart by it. */
  readonly name: string
  readonly url: string
  /** Sent with every request; `{SECRET_NAME}` stands for a secret of this Worker. Default: none. */
  readonly headers: Readonly<Record<string, string>>
  /** Its tools by their own names, `*` for any text. Default: all. */
  readonly tools: readonly string[]
  /** Put before the names of its tools. Default: nothing. */
  readonly prefix: string
  /** Names for its tools, by their own names; they get no prefix. */
  readonly rename: Readonly<Record<string, string>>
  /** Milliseconds for one call. Default 30000. */
  readonly timeoutMs: number
  /** Milliseconds that its list of tools is gone by, at least. Default 60000. */
  readonly ttlMs: number
  /** Whether what it says of its tools' effects is believed. Default true. */
  readonly hints: boolean
  /**
   * Whether it is the deployment's own: its results are believed, and so is that it reaches nothing outside. Default
   * false: a model reads its results as data, and a call of it may carry data out.
   */
  readonly trusted: boolean
  /** Whether a person must agree to each call. */
  readonly approval?: 'always' | undefined
  /** Names of the values of the tool context that it is sent, as members of `_meta`. Default: none. */
  readonly context: readonly string[]
}

/** MCP_SERVERS, and the secrets that it names. */
export type McpEnv = Readonly<Record<string, unknown>>

const texts = v.array(v.string())
const count = v.pipe(v.number(), v.integer(), v.minValue(1))
/** Valibot's own record would leave out a tool that is named `constructor`. */
const byName = v.custom<Readonly<Record<string, string>>>(
  (value) => isObject(value) && Object.values(value).every((each) => typeof each === 'string'),
  'expected texts by name',
)

const Server = v.strictObject({
  name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,32}$/)),
  url: v.string(),
  headers: v.optional(byName, {}),
  tools: v.optional(texts, ['*']),
  prefix: v.optional(v.string(), ''),
  rename: v.optional(byName, {}),
  timeoutMs: v.optional(count, 30_000),
  ttlMs: v.optional(count, 60_000),
  hints: v.optional(v.boolean(), true),
  trusted: v.optional(v.boolean(), false),
  approval: v.optional(v.literal('always')),
  context: v.optional(texts, []),
})

const Servers = v.pipe(
  v.array(Server),
  v.check((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, 'each name once'),
)

/** The servers of MCP_SERVERS, their secrets filled in. Throws an Error that says what is wrong, and no secret. */
export function readServers(env: McpEnv): readonly McpServer[] {
  const { MCP_SERVERS: given } = env
  const parsed = v.safeParse(Servers, typeof given === 'string' ? parse(given || '[]') : (given ?? []))
  if (!parsed.success) {
    const [issue] = parsed.issues
    throw new Error(`MCP_SERVERS: ${v.getDotPath(issue) ?? 'it'}: ${issue.message}`)
  }
  return parsed.output.map((server) => ({
    ...server,
    url: checkAddress(server.url),
    headers: Object.fromEntries(
      Object.entries(server.headers).map(([header, value]) => [header, withSecrets(value, env)]),
    ),
  }))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('MCP_SERVERS is no JSON')
  }
}

function withSecrets(value: string, env: McpEnv): string {
  return value.replace(/\{(SECRET_[A-Z0-9_]+)\}/g, (_, name: string) => {
    const secret = env[name]
    if (typeof secret !== 'string' || secret === '') throw new Error(`MCP_SERVERS: the secret ${name} is not set`)
    return secret
  })
}
