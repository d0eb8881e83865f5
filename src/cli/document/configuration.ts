import { LIMITS, limitRules } from '../../contract/limits.ts'
import { optionRules, RUN_OPTIONS } from '../../contract/run-options.ts'
import { QUOTAS } from '../../contract/quotas.ts'
import { commentsOf } from './comments.ts'
import { providerVariables } from './provider-variables.ts'
import { markdownTable } from './table.ts'

/** A variable, secret or group of secrets of an edge. */
interface Variable {
  readonly name: string
  /** What it sets, as Markdown. */
  readonly text: string
  /** What holds if it is not set, as Markdown. */
  readonly initial: string
}

/** Returns what each limit does, by the member of `limits` that lowers it. */
export function limitTexts(): Readonly<Record<string, string>> {
  return commentsOf(new URL('../../contract/limits.ts', import.meta.url), 'const LIMITS', LIMITS)
}

function limitVariables(): readonly Variable[] {
  const texts = limitTexts()
  return limitRules().map(([limit, { variable: name, initial, mayBeUnlimited }]) => {
    const byTool = limit === 'callsPerTool' ? ' Or a JSON object of limits by tool, with `*` for all other tools.' : ''
    const unlimited = mayBeUnlimited ? ' `-1` removes the limit.' : ''
    const text = `${texts[limit]}${byTool}${unlimited} In a request: \`limits.${limit}\`.`
    return variable(name, text, initial === undefined ? 'no limit' : `\`${initial}\``)
  })
}

function optionVariables(): readonly Variable[] {
  const texts = commentsOf(new URL('../../contract/run-options.ts', import.meta.url), 'const RUN_OPTIONS', RUN_OPTIONS)
  return optionRules().map(([option, { variable: name, values }]) => {
    const words = values.map((value) => (typeof value === 'boolean' ? (value ? 'on' : 'off') : value))
    const text = `${texts[option]} One of ${words.map((word) => `\`${word}\``).join(', ')}. In a request: \`${option}\`.`
    return variable(name, text, `\`${words[0]}\``)
  })
}

function quotaVariables(): readonly Variable[] {
  const texts = commentsOf(new URL('../../contract/quotas.ts', import.meta.url), 'const QUOTAS', QUOTAS)
  return Object.entries(QUOTAS).map(([quota, { variable: name, initial }]) =>
    variable(name, texts[quota] ?? '', `\`${initial}\``),
  )
}

/** Returns the variables of model servers. Providers may share them. */
function serverVariables(): readonly Variable[] {
  const readers: Record<string, string[]> = {}
  for (const [provider, names] of Object.entries(providerVariables())) {
    for (const name of names) (readers[name] ??= []).push(`\`${provider}\``)
  }
  return Object.entries(readers).map(([name, providers]) => {
    const list = `the provider${providers.length > 1 ? 's' : ''} ${providers.join(' and ')}`
    return name.endsWith('_BASE_URL')
      ? variable(name, `The base URL of ${list}.`, 'that of the vendor')
      : variable(name, `The API key of ${list}. A secret.`, 'none')
  })
}

/** The subjects whose variables are in the tables of `src/contract`. */
const LIMIT_SUBJECT = 'Limits of runs'
const OPTION_SUBJECT = 'Options of runs'
const QUOTA_SUBJECT = 'Quotas'

/** The variables of an edge by subject, without those of the tables of limits and options. */
const VARIABLES: Readonly<Record<string, readonly Variable[]>> = {
  Models: [
    variable('MODEL', 'The model of requests that name none, as `provider/name`.', 'none: such requests get 503'),
    variable(
      'MODELS',
      'The models that requests may name: a list of `provider/name` and `provider/*`.',
      '`MODEL` alone',
    ),
    variable(
      'PROVIDER_OPTIONS',
      'What requests may add to those to providers (`providerOptions`): a list of `provider.member`, such as `anthropic.service_tier,openai.prompt_cache_key`. See [Options of a provider](models.md#options-of-a-provider).',
      'nothing',
    ),
    variable(
      'MODEL_PRICES',
      'Prices of one million tokens, as JSON: `{ "provider/name": { "input": 0.4, "output": 1.6, "cachedInput": 0.1 } }`. `cacheWrite` and `longCacheWrite` are those of input that the provider writes to its cache, for minutes or for an hour; `webSearches` is that of a thousand searches of the web by the provider.',
      'none',
    ),
    variable('CURRENCY', 'The currency of these prices, as its ISO 4217 code. The studio writes costs in it.', '`USD`'),
    variable(
      'MODEL_TIMEOUTS',
      'Other time limits for some models, as JSON: `{ "provider/name": { "firstByteMs": 300000, "silenceMs": 120000 } }`. A heartbeat of the server also ends a silence.',
      '`MODEL_FIRST_BYTE_MS` and `MODEL_SILENCE_MS`',
    ),
    variable(
      'PROMPT_CACHE',
      'Whether providers are asked to cache prompts: `5m` or `1h` is how long Anthropic keeps them; `off` sends no marks and no keys. Others cache by rules of their own.',
      '`5m`',
    ),
    variable(
      'MODEL_WINDOWS',
      'The context windows of models, in tokens, as JSON by name or glob: `{ "provider/name": { "contextTokens": 32768, "outputTokens": 4096 } }`. `contextTokens` counts prompt and answer together.',
      'what a refusal of the provider says, else what it documents, else 128,000',
    ),
    ...serverVariables(),
    variable('SYSTEM_PROMPT', 'Instructions for every run. They come before those of the request.', 'none'),
  ],
  Callers: [
    variable(
      'AUTH',
      '`keys`: each request needs a key of `API_KEYS`, or a token of an identity provider. `open`: no key is needed, and only requests to a loopback address are answered.',
      '`keys`',
    ),
    variable(
      'API_KEYS',
      'The hashes of the callers’ keys, with tenants and scopes, as JSON: see [Deploy](deploy.md#keys). A secret.',
      'none: 503',
    ),
    variable(
      'IDENTITY_PROVIDERS',
      'Identity providers, such as Cloudflare Access, whose tokens are accepted as well as keys, as JSON: ' +
        '`[{ "id", "issuer", "audience", "jwks"?, "algorithm"?, "tenant", "scopes", "rate"?, "budget"?, "location"?, "jurisdiction"? }]`.',
      'none',
    ),
    variable(
      'CORS_ORIGINS',
      'The origins of web pages that may call the edge, such as `https://app.example.com`: a list.',
      'none',
    ),
    variable('MAX_BODY_BYTES', 'The maximum size of a request body, in bytes.', '`1048576`'),
    variable('STUDIO', '`off` removes the [studio](studio.md) at `/`.', '`on`'),
  ],
  [LIMIT_SUBJECT]: [],
  [QUOTA_SUBJECT]: [],
  [OPTION_SUBJECT]: [
    variable(
      'ROUNDS',
      'Which text the APIs of OpenAI show: `final`, the final answer; `all`, also text before tool calls; `auto`, all in a stream and the final answer otherwise. In a request: `rounds`.',
      '`auto`; with `COMPAT = "spring-ai"` `final`',
    ),
    variable(
      'COMPAT',
      '`spring-ai` or `langchain4j`: uses the defaults and error texts of that library: see [Migrating from Java](migrating-from-java.md). In a request: `compat`.',
      '`none`',
    ),
  ],
  Tools: [
    variable(
      'DEFAULT_TOOLS',
      'The tools that are offered to requests that name none: a list of names, in which `*` stands for any text and `!` excludes: `*,!files.*`. A search finds no others for them.',
      '`*`',
    ),
    variable(
      'TOOL_SEARCH',
      'Whether models search for tools instead of getting all of them: `auto`, `on` or `off`. See [Tool search](tool-search.md).',
      '`auto`',
    ),
    variable(
      'TOOL_CONTEXT',
      'Default values of the tool context, as a JSON object. A request can replace them, except those of fields whose names end with `!`, such as `{ "region!": "eu" }`.',
      '`{}`',
    ),
    variable(
      'TOOL_POLICY',
      'Who may call which tool, and with which limits, as JSON by name, `#tag` or `@BINDING`: see [Policy](approvals.md#policy).',
      '`{}`',
    ),
    variable(
      'DECISION_MODEL',
      'The [decision model](decisions.md), as `provider/name`, which may approve calls where a policy says `decide`.',
      'none',
    ),
    variable(
      'TAINT_RULE',
      'Whether calls that may send data to the outside need approval once the conversation has read both untrusted and private results.',
      '`on`',
    ),
    variable(
      'CALLER_DATA',
      'Whether results of tools that callers run, and files that their messages link to, count as `untrusted` or `trusted`. A tool that a request brings along may say otherwise (`annotations`).',
      '`untrusted`; with `COMPAT` `trusted`',
    ),
    variable(
      'CLIENT_MEMBERS',
      'Whether a request of `/v1` with a member that only hints, and that the edge cannot honour, is answered without it (`lenient`) or refused (`strict`). See [Members of requests](members.md).',
      '`lenient`',
    ),
    variable(
      'FOUR_EYES',
      '`on`: a key cannot approve or reject the calls of runs that it started, and nobody who approves a call can change its arguments. `decisions`: the first of these alone.',
      '`off`',
    ),
    variable(
      'TOOL_BREAKER_FAILURES',
      'How many calls of a tool in a row must time out, be lost or meet an overload before it is paused for the tenant, or `off`. Each isolate counts for itself.',
      '`5`',
    ),
    variable('TOOL_BREAKER_MS', 'How long a tool is paused, in milliseconds. Then one call is tried.', '`30000`'),
    variable(
      'HOLD_CHANGED',
      'The bindings whose tools are [held back](approvals.md#tools-that-change) when they change: a list in which `*` stands for any text, or `off`.',
      '`TOOL_MCP*`',
    ),
    variable(
      'CHECK_OUTPUTS',
      'The bindings for which the edge checks results against the tools’ output schemas, unless the Worker does that itself: a list in which `*` stands for any text, or `off`. Needs the binding `DEFINITIONS`.',
      'all but those of `HOLD_CHANGED`',
    ),
    variable(
      'FILE_HOSTS',
      'The hosts from which the edge may fetch linked images and files, if the model’s provider does not fetch them: a list such as `files.example.com`, or `*` for any public host. A host is public by its name alone: see [Security](security.md#data-from-outside).',
      'none',
    ),
    variable(
      'HTTP_TOOL_HOSTS',
      'The hosts that stored tools may call, each with the secrets that may be sent there, as JSON: `{ "api.example.com": ["SECRET_EXAMPLE"] }`.',
      '`{}`',
    ),
    variable('SECRET_*', 'Secrets that stored tools refer to by name.', 'none'),
  ],
  Conversations: [
    variable(
      'MEMORY_MESSAGES',
      'The maximum number of messages of earlier turns that a model sees. Turns are not cut. The window slides with each turn.',
      'none: see [What a model sees](context.md)',
    ),
    variable(
      'MEMORY_TOKENS',
      'The maximum number of tokens of earlier turns that a model sees, estimated. Turns are not cut. The window slides with each turn.',
      'none: see [What a model sees](context.md)',
    ),
    variable(
      'MEMORY_SHOW',
      'What a model sees of earlier turns: `all`, `answers` (without calls and results) or `none`.',
      '`all`',
    ),
    variable('MEMORY_SUMMARY', '`on`: turns that are too old for the model to see are summarised for it.', '`off`'),
    variable('MAX_QUEUE', 'The maximum number of runs that wait in a conversation.', '`128`'),
    variable(
      'MAX_SUBREQUESTS',
      'How many subrequests (model requests and tool calls) a run makes in one Worker invocation. After these, an alarm continues a run of a conversation in another invocation. Keep it below [Cloudflare’s limit](limits.md#limits-of-the-platform).',
      '`9000`',
    ),
    variable(
      'WORKERS_PLAN',
      '`free`: the defaults fit the [Free plan](limits.md#the-free-plan). `MAX_SUBREQUESTS` is 40, and `MEMORY_TOKENS` is 8,000.',
      '`paid`',
    ),
    variable(
      'DIRECTORY_SHARDS',
      'How many objects the directory of a tenant is divided among. It may be raised at any time, never lowered: [Tenants](tenants.md#the-directory).',
      '`1`',
    ),
    variable('WEBHOOK_HOSTS', 'The hosts that [webhooks](conversations.md#webhooks) may be sent to: a list.', 'none'),
    variable(
      'WEBHOOK_SECRET',
      'Signs webhooks: `whsec_` followed by base64, or any text. A secret.',
      'none: no webhooks',
    ),
    variable(
      'OUTCOME_SECRET',
      'Signs the tokens with which tools [report outcomes](later.md#report-the-outcome), [copies of conversations](backups.md) and [questions to MCP clients](mcp.md#your-tools-for-mcp-clients): any text, or a list, of which the first signs and all are accepted. A secret.',
      'none: tools can only be polled, no copy is signed, and MCP clients are not asked',
    ),
    variable(
      'EDGE_URL',
      'The public address of the edge, for the URLs of these reports.',
      'none: tools get only a token',
    ),
  ],
  Logs: [
    variable('LOG', '`faults` logs failures only. `runs` also logs each run, step and call.', '`faults`'),
    variable(
      'FAULT_DAYS',
      'For how many days a conversation stores why requests to models and calls failed, for [operators](observe.md#from-an-alert-to-its-cause).',
      '`30`',
    ),
    variable(
      'INCLUDE_CONTENT',
      'Whether logs and traces contain messages, arguments and results: `true` or `false`.',
      '`false`',
    ),
    variable(
      'OTLP_ENDPOINT',
      'The base URL of the OpenTelemetry collector that [traces](traces.md) are sent to. `OTEL_EXPORTER_OTLP_ENDPOINT` does the same.',
      'none',
    ),
    variable(
      'OTLP_HEADERS',
      'Headers of the requests to the collector: `name=value,name=value`. `OTEL_EXPORTER_OTLP_HEADERS` does the same. A secret.',
      'none',
    ),
    variable('OTEL_SERVICE_NAME', '`service.name` of the spans.', '`edgecall`'),
  ],
}

function variable(name: string, text: string, initial: string): Variable {
  return { name, text, initial }
}

/** Returns the names of all variables of an edge. `SECRET_*` stands for any name that begins so. */
export function variableNames(): readonly string[] {
  const others = Object.values(VARIABLES).flat()
  return [
    ...others.map(({ name }) => name),
    ...Object.values({ ...LIMITS, ...RUN_OPTIONS, ...QUOTAS }).map(({ variable: name }) => name),
  ]
}

/** The variables of the subjects that are tables of `src/contract`. */
const TABLES: Readonly<Record<string, () => readonly Variable[]>> = {
  [LIMIT_SUBJECT]: limitVariables,
  [OPTION_SUBJECT]: optionVariables,
  [QUOTA_SUBJECT]: quotaVariables,
}

/** Returns the pages of docs/ on variables, by file: a table of the variables for each subject. */
export function configurationPages(): Readonly<Record<string, string>> {
  const isOfRuns = (subject: string) => Object.hasOwn(TABLES, subject)
  const subjects = Object.keys(VARIABLES)
  return {
    'configuration.md': `${INTRODUCTION}\n${sections(subjects.filter((subject) => !isOfRuns(subject)))}`,
    'run-configuration.md': `${INTRODUCTION_OF_RUNS}\n${sections(subjects.filter(isOfRuns))}`,
  }
}

function sections(subjects: readonly string[]): string {
  const texts = subjects.map((subject) => {
    const variables = [...(TABLES[subject]?.() ?? []), ...(VARIABLES[subject] ?? [])]
    return `## ${subject}\n\n${tableOf(variables)}`
  })
  return texts.join('\n')
}

const SOURCE =
  '<!-- Written by `npm run openapi` from src/cli/document/configuration.ts and the tables in src/contract. -->'

const INTRODUCTION = `# Configuration

These are the variables of an edge; [limits, quotas and options of runs](run-configuration.md) have a page of their own. Set them under \`[vars]\` in
\`wrangler.toml\`, and secrets with \`npx wrangler secret put NAME\`. For \`npm start\`, set them in the environment, such as
\`LOG=runs npm start\`, or in \`.dev.vars\`.

Lists are separated by commas: \`MODELS = "openai/gpt-4.1-mini,anthropic/*"\`. If a value is invalid, the edge answers 503 and names the variable.

${SOURCE}
`

const INTRODUCTION_OF_RUNS = `# Configuration of runs

These variables bound and shape the runs of an edge. Set them as [the other variables](configuration.md). A request can lower the limits and
choose the options for its run: [Call the edge](calling.md#options-of-a-run).

${SOURCE}
`

function tableOf(variables: readonly Variable[]): string {
  return markdownTable([
    ['Variable', 'What it sets', 'Default'],
    ...variables.map(({ name, text, initial }) => [`\`${name}\``, text, initial]),
  ])
}
