import * as v from 'valibot'
import { type SecretFilter, secretFilter } from 'edgecall/tool'
import { checkAddress } from './address.ts'
import { isObject } from './json.ts'
import type { OAuthConfig } from './oauth/config.ts'

/** An MCP server whose tools are offered here. */
export interface McpServer {
  /** The name for operators; also the prefix of a tool whose name another server's tool has. */
  readonly name: string
  readonly url: string
  /** Sent with every request; `{SECRET_NAME}` stands for a secret of this Worker. Default: none. */
  readonly headers: Readonly<Record<string, string>>
  /** The secrets in `headers` and `oauth`. */
  readonly secretTexts: readonly string[]
  /** Removes these secrets from what the server sends. */
  readonly secrets: SecretFilter | undefined
  /** The tools to offer, by their own names; `*` stands for any text. Default: all. */
  readonly tools: readonly string[]
  /** A prefix for the names of its tools. Default: none. */
  readonly prefix: string
  /** New names for tools, by their own names; these get no prefix. */
  readonly rename: Readonly<Record<string, string>>
  /** The time limit of a call, in milliseconds. Default 30000. */
  readonly timeoutMs: number
  /** How long its list of tools is cached at least, in milliseconds. Default 60000. */
  readonly ttlMs: number
  /** Whether its annotations on the effects of its tools are used. Default true. */
  readonly hints: boolean
  /**
   * Whether the deployment trusts the server as its own: its results are not marked untrusted, and its `openWorldHint`
   * is used. Default false: a model reads its results as data, and its calls count as reaching outward.
   */
  readonly trusted: boolean
  /** Whether a person must approve each call. Default: no. */
  readonly approval?: 'always' | undefined
  /** Names of tool context values that are sent to it, as members of `_meta`. Default: none. */
  readonly context: readonly string[]
  /** Whether its instructions are added to the system text of runs that offer its tools. Default false. */
  readonly instructions: boolean
  /**
   * The resources that models may read by a tool, and MCP clients of the edge as resources, as patterns of URIs; `*`
   * stands for any text. Default: none.
   */
  readonly resources: readonly string[]
  /** The prompts that MCP clients of the edge are offered, by their own names, as patterns. Default: none. */
  readonly prompts: readonly string[]
  /** How to get access to it by OAuth. Default: `headers` are all it needs. */
  readonly oauth?: OAuthConfig | undefined
  /** Where authorization servers send people back to, from MCP_CALLBACK_URL. */
  readonly callback: string | undefined
}

/** The variables of this Worker: MCP_SERVERS, and the secrets that it names. */
export type McpEnv = Readonly<Record<string, unknown>>

const texts = v.array(v.string())
const count = v.pipe(v.number(), v.integer(), v.minValue(1))
/** A record of strings. Valibot's `record` would leave out a tool named `constructor`. */
const byName = v.custom<Readonly<Record<string, string>>>(
  (value) => isObject(value) && Object.values(value).every((each) => typeof each === 'string'),
  'expected texts by name',
)

const OAuth = v.pipe(
  v.strictObject({
    grant: v.optional(v.picklist(['authorization_code', 'client_credentials']), 'authorization_code'),
    owner: v.optional(v.picklist(['edge', 'tenant']), 'edge'),
    clientId: v.optional(v.string()),
    clientSecret: v.optional(v.string()),
    privateKey: v.optional(v.string()),
    issuer: v.optional(v.string()),
    scope: v.optional(v.string()),
  }),
  v.check(({ grant, owner }) => grant !== 'client_credentials' || owner === 'edge', 'nobody of a tenant signs in'),
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
  instructions: v.optional(v.boolean(), false),
  resources: v.optional(texts, []),
  prompts: v.optional(texts, []),
  oauth: v.optional(OAuth),
})

const Servers = v.pipe(
  v.array(Server),
  v.check((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, 'each name once'),
)

/** Reads MCP_SERVERS and fills in its secrets. Throws an Error that says what is wrong and contains no secret. */
export function readServers(env: McpEnv): readonly McpServer[] {
  const { MCP_SERVERS: value, MCP_CALLBACK_URL: callback } = env
  const parsed = v.safeParse(Servers, typeof value === 'string' ? parse(value || '[]') : (value ?? []))
  if (!parsed.success) {
    const [issue] = parsed.issues
    throw new Error(`MCP_SERVERS: ${v.getDotPath(issue) ?? 'it'}: ${issue.message}`)
  }
  return parsed.output.map((server) => {
    const secrets: string[] = []
    const fill = (value: string) =>
      value.replace(SECRET, (_, name: string) => {
        const secret = secretOf(env, name)
        secrets.push(secret)
        return secret
      })
    const headers = Object.fromEntries(Object.entries(server.headers).map(([header, value]) => [header, fill(value)]))
    const { clientSecret, privateKey } = server.oauth ?? {}
    const oauthSecrets = {
      ...(clientSecret !== undefined && { clientSecret: fill(clientSecret) }),
      ...(privateKey !== undefined && { privateKey: fill(privateKey) }),
    }
    return {
      ...server,
      url: checkAddress(server.url),
      headers,
      ...(server.oauth && { oauth: { ...server.oauth, ...oauthSecrets } }),
      callback:
        typeof callback === 'string' && callback !== '' ? checkAddress(callback, 'MCP_CALLBACK_URL') : undefined,
      secretTexts: secrets,
      secrets: secretFilter(secrets),
    }
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('MCP_SERVERS is not JSON')
  }
}

const SECRET = /\{(SECRET_[A-Z0-9_]+)\}/g

function secretOf(env: McpEnv, name: string): string {
  const secret = env[name]
  if (typeof secret !== 'string' || secret === '') throw new Error(`MCP_SERVERS: the secret ${name} is not set`)
  return secret
}
