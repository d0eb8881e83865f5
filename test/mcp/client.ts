/**
 * The client that MCP's conformance suite starts for each scenario, with the address of its server: the Worker
 * `tools/mcp`, which runs at MCP_CLIENT, lists the tools of that server and calls them. This program is the person who
 * signs in and fills in forms.
 */
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { ToolFailure, ToolOutcome, ToolRequest } from '../../src/contract/tool.ts'
import type { Order } from './worker.ts'

const { MCP_CLIENT = '', MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT = '{}' } = process.env
const context = JSON.parse(MCP_CONFORMANCE_CONTEXT) as Record<string, any>
const url = process.argv.at(-1) ?? ''
const server = 'suite'

const vars = {
  MCP_SERVERS: JSON.stringify([
    { name: server, url, ...(scenario.startsWith('auth/') && { oauth: oauthOf(context) }) },
  ]),
  MCP_CALLBACK_URL: 'http://localhost:8976/connections/callback',
  SECRET_CLIENT: context['client_secret'],
  SECRET_KEY: context['private_key_pem'],
}

function oauthOf({ client_id: clientId, client_secret: secret, private_key_pem: key }: Record<string, any>): object {
  const document = 'https://conformance-test.local/client-metadata.json'
  return {
    grant: scenario.includes('client-credentials') ? 'client_credentials' : 'authorization_code',
    clientId: clientId ?? document,
    ...(secret && { clientSecret: '{SECRET_CLIENT}' }),
    ...(key && { privateKey: '{SECRET_KEY}' }),
  }
}

type Wish = Order extends infer Each ? (Each extends Order ? Omit<Each, 'vars'> : never) : never

async function ask<Answer>(wish: Wish): Promise<Answer & { error?: string }> {
  const response = await fetch(MCP_CLIENT, { method: 'POST', body: JSON.stringify({ ...wish, vars }) })
  return (await response.json()) as Answer & { error?: string }
}

/** Signs in as a browser does: follows the address to where it leads back to. */
async function signIn(): Promise<boolean> {
  let signIn = await ask<{ url?: string; issuer?: string; browser?: string }>({ do: 'signIn', owner: '', server })
  // The person accepts the authorization server that the suite has the server name.
  if (signIn.error !== undefined && signIn.issuer !== undefined) {
    signIn = await ask({ do: 'signIn', owner: '', server, issuer: signIn.issuer })
  }
  if (signIn.issuer !== undefined && signIn.error === undefined && signIn.url === undefined) return true
  if (signIn.url === undefined) return fail('no sign-in', signIn)
  const response = await fetch(signIn.url, { redirect: 'manual' })
  const { search } = new URL(response.headers.get('location') ?? 'about:blank')
  const ended = await ask<{ server?: string; code?: string }>({
    do: 'finish',
    query: search,
    ...(signIn.browser !== undefined && { browser: signIn.browser }),
  })
  return (ended.server !== undefined && ended.code === undefined) || fail('sign-in failed', ended)
}

function fail(what: string, detail: unknown): false {
  console.error(what, JSON.stringify(detail))
  process.exitCode = 1
  return false
}

async function describe(): Promise<readonly ToolDefinition[]> {
  const described = await ask<{ tools?: readonly ToolDefinition[] }>({ do: 'describe' })
  if (described.tools) return described.tools
  if (/nobody is signed in|as its authorization server/.test(described.error ?? '') && (await signIn()))
    return describe()
  fail('no tools', described)
  return []
}

/** Calls a tool, does what the call asks for, and calls it again. */
async function call(tool: ToolDefinition, args: Record<string, unknown>, most = 4): Promise<void> {
  const request: ToolRequest = {
    name: tool.name,
    arguments: args,
    hash: tool.hash,
    context: {
      ...{ runId: 'run', callId: 'call', idempotencyKey: 'call', attempt: 1, deadline: Date.now() + 30_000 },
      caller: { tenant: 'acme', scopes: [] },
      values: {},
      asks: ['elicitation/create'],
    },
  }
  let input: ToolRequest['context']['input']
  for (let remaining = most; remaining > 0; remaining--) {
    const context = { ...request.context, ...(input && { input }) }
    const outcome = await ask<ToolOutcome>({ do: 'call', request: { ...request, context } })
    console.log(JSON.stringify(outcome))
    if (outcome.ok) return
    const { error, input: needs } = outcome as ToolFailure
    if (needs) {
      const responses = Object.keys(needs.requests).map((key) => [key, { action: 'accept', content: {} }])
      input = { responses: Object.fromEntries(responses), ...(needs.state !== undefined && { state: needs.state }) }
    } else if (!/^mcp_(?:not_connected|held_back)$/.test(error?.code ?? '') || !(await signIn()))
      return void fail('call failed', outcome)
  }
}

/** Arguments that fit a schema of plain values. */
function argumentsFor({ inputSchema }: ToolDefinition): Record<string, unknown> {
  const properties = Object.entries((inputSchema['properties'] ?? {}) as Record<string, { type?: string }>)
  const samples: Record<string, unknown> = {
    string: 'test',
    boolean: true,
    number: 5,
    integer: 3,
    array: [],
    object: {},
  }
  return Object.fromEntries(properties.map(([name, { type = 'string' }]) => [name, samples[type]]))
}

const tools = await describe()
const wanted = (context['toolCalls'] ?? []) as { name: string; arguments: Record<string, unknown> }[]
if (wanted.length > 0) {
  for (const { name, arguments: args } of wanted) {
    const tool = tools.find((each) => each.name === name)
    if (tool) await call(tool, args)
  }
} else if (scenario === 'json-schema-2020-12-preservation') {
  const [value, echo] = ['json_schema_2020_12_tool', 'json_schema_echo'].map((name) =>
    tools.find((tool) => tool.name === name),
  )
  if (value && echo) await call(echo, { schema: value.inputSchema })
} else for (const tool of tools) await call(tool, argumentsFor(tool))
