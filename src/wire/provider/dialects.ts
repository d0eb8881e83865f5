import { type KeyRule, renameProperties } from './property-names.ts'

/**
 * What providers take of a tool, by what their documentation says, or their refusals where it says nothing. Every codec
 * sends tools that `fitRequest` has made of these tables; the page “Schemas” of the documentation is written from them.
 */
export interface ProviderDialect {
  /** The provider, as the documentation names it. */
  readonly provider: string
  /** What the name of a tool must match beside `TOOL_NAME`. */
  readonly toolNames?: RegExp
  readonly keys?: KeyRule
  /** Keywords that the schema of a tool may not have at its top. */
  readonly refusedAtTop: readonly string[]
  /** Whether the schema of a tool must have `properties`, even if there are none. */
  readonly needsProperties?: true
  /** The keywords that it takes. Default: all of JSON Schema. */
  readonly keywords?: Keywords
  /** What it can enforce, for tools with `strict`. Default: `strict` is not sent. */
  readonly strict?: StrictRules
  /** Whether it takes the kinds of tools that OpenAI's Responses format has beside functions, as a caller declares them. */
  readonly toolKinds?: true
  readonly mostTools?: number
  /** The most that the `maxItems` of a tool may add up to. */
  readonly mostItems?: number
  /** The most characters of the description of a tool. */
  readonly mostDescription?: number
}

/** Where the rules of a dialect are said. No bundle of a Worker has it. */
export type DialectSources = { readonly [Rule in Exclude<keyof ProviderDialect, 'provider'>]?: string }

/** The keywords of JSON Schema that a provider accepts. */
export interface Keywords {
  /** Keywords whose values are passed as they are. */
  readonly plain: RegExp
  /** Keywords whose values are lists of schemas. `oneOf` is sent as `anyOf`. */
  readonly lists: RegExp
  /** Whether objects may only have properties that they name; and whether all of these are required, maybe as null. */
  readonly isClosed?: boolean
  readonly requiresAll?: boolean
  /** The accepted values of `format`. Default: any, if the keyword is accepted. */
  readonly formats?: RegExp
  /** Whether the values of an `enum` must be numbers, or texts that are not empty. */
  readonly hasPlainEnums?: true
  /** Whether `required` may only name properties that are described beside it. */
  readonly requiresNamed?: true
}

/** How large a schema may be that a provider enforces. */
export interface StrictRules {
  readonly keywords: Keywords
  readonly mostProperties: number
  readonly mostLevels: number
  /** Of all enums together. */
  readonly mostEnumValues: number
  /** Of the names of properties and definitions and of the values of enums together. */
  readonly mostCharacters: number
  /** An enum with more than so many values has at most so many characters. */
  readonly longEnum: { readonly values: number; readonly characters: number }
}

const UNIONS = ['anyOf', 'oneOf', 'allOf']

const PLAIN_KEYS: KeyRule = {
  fits: /^[a-zA-Z0-9_.-]{1,64}$/,
  others: /[^a-zA-Z0-9_.-]+/g,
  rename: renameProperties,
}

export const ANTHROPIC_DIALECT: ProviderDialect = {
  provider: 'Anthropic',
  // “tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'”
  keys: PLAIN_KEYS,
  // “input_schema does not support oneOf, allOf, or anyOf at the top level”
  refusedAtTop: UNIONS,
}

export const ANTHROPIC_SOURCES: DialectSources = {
  keys: 'https://github.com/anthropics/claude-code/issues/79418',
  refusedAtTop: 'https://github.com/anthropics/claude-code/issues/40075',
}

/** What OpenAI enforces of a strict tool. Servers with its formats take the same, or ignore `strict`. */
const STRICT: StrictRules = {
  keywords: {
    plain: /^(type|title|enum|pattern|format|multipleOf|(exclusive)?(Min|Max)imum|(min|max)(imum|Items)|required)$/,
    lists: /^(anyOf|oneOf)$/,
    formats: /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/,
    isClosed: true,
    requiresAll: true,
  },
  mostProperties: 5000,
  mostLevels: 10,
  mostEnumValues: 1000,
  mostCharacters: 120_000,
  longEnum: { values: 250, characters: 15_000 },
}

const OPENAI_FORMATS = {
  // “schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level”
  refusedAtTop: [...UNIONS, 'enum', 'const', 'not'],
  // “object schema missing properties” and, of Groq, “'required' present but 'properties' is missing”
  needsProperties: true,
  strict: STRICT,
} as const

/** Servers that speak Chat Completions or Responses, and document no other rules. */
export const COMPATIBLE_DIALECT: ProviderDialect = {
  ...OPENAI_FORMATS,
  provider: 'other servers of OpenAI’s formats',
  // Behind a gateway may be a model of Anthropic's.
  keys: PLAIN_KEYS,
}

export const COMPATIBLE_SOURCES: DialectSources = {
  keys: 'https://github.com/anthropics/claude-code/issues/79418',
  refusedAtTop: 'https://github.com/chatanywhere/GPT_API_free/issues/403',
  needsProperties: 'https://github.com/usestrix/strix/issues/1088',
  strict: 'https://platform.openai.com/docs/guides/structured-outputs#supported-schemas',
}

export const OPENAI_DIALECT: ProviderDialect = {
  ...OPENAI_FORMATS,
  provider: 'OpenAI and Azure',
  // “Invalid 'tools': array too long. Expected an array with maximum length 128”
  toolKinds: true,
  mostTools: 128,
  // “Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024”
  mostDescription: 1024,
}

/** Beside those of `COMPATIBLE_DIALECT`. */
export const OPENAI_SOURCES: DialectSources = {
  toolKinds: 'https://platform.openai.com/docs/guides/function-calling#custom-tools',
  mostTools: 'https://github.com/zed-industries/zed/issues/32946',
  mostDescription: 'https://github.com/getsentry/sentry-mcp/issues/106',
}

/** “A max of 128 functions are supported.” */
export const GROQ_DIALECT: ProviderDialect = {
  ...OPENAI_FORMATS,
  provider: 'Groq',
  mostTools: 128,
}

/** Beside those of `COMPATIBLE_DIALECT`. */
export const GROQ_SOURCES: DialectSources = {
  mostTools: 'https://console.groq.com/docs/api-reference#chat-create',
}

export const GEMINI_DIALECT: ProviderDialect = {
  provider: 'Gemini',
  // “Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores, dots, colons, or dashes”
  toolNames: /^[a-zA-Z_][\w.:-]{0,63}$/,
  // “Parameter names must start with a letter or an underscore and must only contain chars a-z, A-Z, 0-9, or underscores
  // with a maximum length of 64”
  keys: { fits: /^[a-zA-Z_]\w{0,63}$/, others: /\W+/g, rename: renameProperties },
  refusedAtTop: UNIONS,
  // It ignores what it does not document for `parametersJsonSchema` and `responseJsonSchema`.
  keywords: {
    plain: /^(type|title|format|required|enum|(min|max)(Items|imum)|additionalProperties)$/,
    lists: /^(anyOf|oneOf|prefixItems)$/,
    hasPlainEnums: true,
    requiresNamed: true,
  },
  // A request whose bounds of lists add up to about 960 is refused as an “invalid argument”.
  mostItems: 900,
}

export const GEMINI_SOURCES: DialectSources = {
  toolNames: 'https://github.com/kaitranntt/ccs/issues/25',
  keys: 'https://cloud.google.com/vertex-ai/generative-ai/docs/reference/java/1.3.0/com.google.cloud.vertexai.api.FunctionDeclarationOrBuilder',
  refusedAtTop: 'https://ai.google.dev/api/caching#FunctionDeclaration',
  keywords: 'https://ai.google.dev/api/generate-content#FIELDS.response_json_schema',
  mostItems: 'https://github.com/googleapis/python-genai/issues/2170',
}

/** Returns the dialect of a server with OpenAI’s formats by its URL. */
export function dialectOf(url: string): ProviderDialect {
  if (/\/\/([\w-]+\.)*(openai\.com|openai\.azure\.com|cognitiveservices\.azure\.com)\//.test(url)) return OPENAI_DIALECT
  return /\/\/([\w-]+\.)*groq\.com\//.test(url) ? GROQ_DIALECT : COMPATIBLE_DIALECT
}

/** The keywords that Anthropic's structured outputs enforce, for the schema of an answer. */
export const ANTHROPIC_ANSWERS: Keywords = {
  plain: /^(type|title|required|enum|const)$/,
  lists: /^(anyOf|oneOf|allOf)$/,
  isClosed: true,
}
