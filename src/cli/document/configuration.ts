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
  return limitRules().map(([limit, { variable: name, initial }]) => {
    const byTool =
      limit === 'callsPerTool' ? ' Or a JSON object of limits by the names of tools; `*` is for the others.' : ''
    const text = `${texts[limit]}${byTool} In a request: \`limits.${limit}\`.`
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
      ? variable(name, `The base URL of the server of ${list}.`, 'the vendor’s own')
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
    variable('MODEL', 'The model of a request that names none, as `provider/name`.', 'none: such requests get 503'),
    variable(
      'MODELS',
      'The models that requests may name: a list of `provider/name` and `provider/*`.',
      '`MODEL` alone',
    ),
    variable(
      'MODEL_PRICES',
      'Prices of a million tokens, as JSON: `{ "provider/name": { "input": 0.4, "output": 1.6, "cachedInput": 0.1 } }`.',
      'none',
    ),
    variable(
      'MODEL_TIMEOUTS',
      'How long single models may be silent, as JSON: `{ "provider/name": { "firstByteMs": 300000, "silenceMs": 120000 } }`. Heartbeats of a server count as bytes.',
      '`MODEL_FIRST_BYTE_MS` and `MODEL_SILENCE_MS`',
    ),
    ...serverVariables(),
    variable('SYSTEM_PROMPT', 'Instructions for every run, before those of the request.', 'none'),
  ],
  Callers: [
    variable(
      'AUTH',
      '`keys`: each request needs a key of `API_KEYS`. `open`: anyone may call, but only on a loopback address.',
      '`keys`',
    ),
    variable(
      'API_KEYS',
      'The keys of callers, by their hashes, with tenants and scopes, as JSON. A secret.',
      'none: 503',
    ),
    variable(
      'IDENTITY_PROVIDERS',
      'Identity providers, such as Cloudflare Access, whose tokens are accepted beside keys, as JSON: ' +
        '`[{ "id", "issuer", "audience", "jwks"?, "algorithm"?, "tenant", "scopes", "rate"?, "budget"? }]`.',
      'none',
    ),
    variable('CORS_ORIGINS', 'A list of the origins whose pages may call, such as `https://app.example.com`.', 'none'),
    variable('MAX_BODY_BYTES', 'The most bytes of a request.', '`1048576`'),
    variable('PLAYGROUND', '`off` removes the page at `/`.', '`on`'),
  ],
  [LIMIT_SUBJECT]: [],
  [QUOTA_SUBJECT]: [],
  [OPTION_SUBJECT]: [
    variable(
      'COMPAT',
      '`spring-ai` or `langchain4j`: the defaults and texts of that library where they differ. In a request: `compat`.',
      '`none`',
    ),
  ],
  Tools: [
    variable(
      'DEFAULT_TOOLS',
      'The tools on offer to a request that names none: a list of names, in which `*` stands for any text.',
      '`*`',
    ),
    variable(
      'TOOL_SEARCH',
      'Whether models search for tools instead of being sent all of them: `auto`, `on` or `off`.',
      '`auto`',
    ),
    variable(
      'TOOL_CONTEXT',
      'The default tool context, as a JSON object. Values of a request win, except over fields whose names end with `!`: `{ "region!": "eu" }` pins `region`.',
      '`{}`',
    ),
    variable(
      'TOOL_POLICY',
      'Who may call which tool, and how, as JSON by the tool’s name, `#tag` or `@BINDING`.',
      '`{}`',
    ),
    variable(
      'TAINT_RULE',
      'Whether calls that reach outward wait for approval once the conversation has read both untrusted and private results.',
      '`on`',
    ),
    variable(
      'FOUR_EYES',
      'Whether a key with `approve` may not decide about calls of runs that the same key started.',
      '`off`',
    ),
    variable(
      'TOOL_BREAKER_FAILURES',
      'How many calls of a tool in a row must fail until it is paused for the tenant, or `off`. Each isolate has its own count.',
      '5',
    ),
    variable('TOOL_BREAKER_MS', 'How long a tool is paused, in milliseconds; then one call may try.', '30000'),
    variable(
      'HOLD_CHANGED',
      'Bindings whose tools are held back when they change: a list in which `*` stands for any text, or `off`.',
      '`TOOL_MCP*`',
    ),
    variable(
      'CHECK_OUTPUTS',
      'Bindings whose results the edge checks by their tools’ output schemas, unless the Worker does so itself: a list in which `*` stands for any text, or `off`. Needs the binding `DEFINITIONS`.',
      'all but those of `HOLD_CHANGED`',
    ),
    variable(
      'FILE_HOSTS',
      'The hosts from which the edge fetches images and files that requests link to, for models that do not: `files.example.com`, or `*` for any public host.',
      'none',
    ),
    variable(
      'HTTP_TOOL_HOSTS',
      'The hosts that stored HTTP tools may reach, with the secrets that may go there, as JSON: `{ "api.example.com": ["SECRET_EXAMPLE"] }`.',
      '`{}`',
    ),
    variable('SECRET_*', 'The secrets of stored tools.', 'none'),
  ],
  Conversations: [
    variable('MEMORY_MESSAGES', 'The most messages of earlier turns that a model sees, in whole turns.', '`200`'),
    variable(
      'MEMORY_TOKENS',
      'The most tokens of earlier turns that a model sees, in whole turns; estimated.',
      '`100000`',
    ),
    variable('MEMORY_SHOW', 'What a model sees of earlier turns: `all`, only the `answers`, or `none`.', '`all`'),
    variable('MEMORY_SUMMARY', '`on`: turns that a model no longer sees are summarised for it.', '`off`'),
    variable('MAX_QUEUE', 'The most runs that wait in a conversation.', '`128`'),
    variable(
      'MAX_SUBREQUESTS',
      'How many subrequests a run makes in one Worker invocation: requests of models, calls of tools. In a conversation, an alarm then continues it in another one. Below what [Cloudflare allows](limits.md#limits-of-the-platform): 40 on the Free plan.',
      '`9000`',
    ),
    variable(
      'DIRECTORY_SHARDS',
      'How many objects the directory of a tenant is divided among. It may be raised at any time, never lowered: [Tenants](tenants.md#the-directory).',
      '`1`',
    ),
    variable('WEBHOOK_HOSTS', 'The hosts to which the webhooks of conversations may go.', 'none'),
    variable('WEBHOOK_SECRET', 'Signs webhooks: `whsec_` and base64, or any text. A secret.', 'none: no webhooks'),
    variable(
      'OUTCOME_SECRET',
      'Signs the addresses to which tools report outcomes that come later: any text, or a list, of which the first signs and all are accepted. A secret.',
      'none: such tools are polled',
    ),
    variable('EDGE_URL', 'The public address of the edge, which those addresses begin with.', 'none: tokens alone'),
  ],
  Logs: [
    variable('LOG', '`faults`: only what failed. `runs`: every run and its calls too.', '`faults`'),
    variable(
      'INCLUDE_CONTENT',
      'Whether logs and traces may hold arguments and results: `true` or `false`.',
      '`false`',
    ),
    variable(
      'OTLP_ENDPOINT',
      'The OpenTelemetry collector that traces are sent to, by its base URL. `OTEL_EXPORTER_OTLP_ENDPOINT` does the same.',
      'none',
    ),
    variable(
      'OTLP_HEADERS',
      'Headers of these requests: `name=value,name=value`. `OTEL_EXPORTER_OTLP_HEADERS` does the same. A secret.',
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

/** Returns docs/configuration.md: a table of the variables for each subject. */
export function configurationText(): string {
  const sections = Object.entries(VARIABLES).map(([subject, variables]) => {
    const fromTable = TABLES[subject]?.() ?? []
    return `## ${subject}\n\n${tableOf([...fromTable, ...variables])}`
  })
  return `${INTRODUCTION}\n${sections.join('\n')}`
}

const INTRODUCTION = `# Configuration

The variables of an edge. Set them under \`[vars]\` in \`wrangler.toml\`, and secrets with \`npx wrangler secret put NAME\`. For
\`npm start\`, set them in the environment: \`LOG=runs npm start\`. A value that the edge cannot read stops it: it answers 503
until the value is corrected.

<!-- Written by \`npm run openapi\` from the tables in src/contract. -->
`

function tableOf(variables: readonly Variable[]): string {
  return markdownTable([
    ['Variable', 'What it sets', 'Default'],
    ...variables.map(({ name, text, initial }) => [`\`${name}\``, text, initial]),
  ])
}
