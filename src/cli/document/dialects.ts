import {
  ANTHROPIC_DIALECT,
  ANTHROPIC_SOURCES,
  COMPATIBLE_DIALECT,
  COMPATIBLE_SOURCES,
  type ProviderDialect,
  type DialectSources,
  GEMINI_DIALECT,
  GEMINI_SOURCES,
  GROQ_DIALECT,
  GROQ_SOURCES,
  OPENAI_DIALECT,
  OPENAI_SOURCES,
} from '../../wire/provider/dialects.ts'
import { markdownTable } from './table.ts'

/** The dialects, in the order of the page. */
const DIALECTS: readonly (readonly [ProviderDialect, DialectSources])[] = [
  [ANTHROPIC_DIALECT, ANTHROPIC_SOURCES],
  [GEMINI_DIALECT, GEMINI_SOURCES],
  [OPENAI_DIALECT, { ...COMPATIBLE_SOURCES, ...OPENAI_SOURCES }],
  [GROQ_DIALECT, { ...COMPATIBLE_SOURCES, ...GROQ_SOURCES }],
  [COMPATIBLE_DIALECT, COMPATIBLE_SOURCES],
]

type Rule = keyof DialectSources

/** What each rule refuses and what is done about it, in words. */
const WORDS: { readonly [Name in Rule]-?: (dialect: ProviderDialect) => readonly [takes: string, does: string] } = {
  toolNames: ({ toolNames }) => [`names of tools: ${patternText(toolNames)}`, 'another name, which is mapped back'],
  keys: ({ keys }) => [`names of properties: ${patternText(keys?.fits)}`, 'other names, which are mapped back'],
  refusedAtTop: ({ refusedAtTop }) => [
    `at the top no ${refusedAtTop.map((word) => `\`${word}\``).join(', ')}`,
    'said in the description',
  ],
  needsProperties: () => ['`properties` at the top, and beside `required`', 'added, empty'],
  keywords: ({ keywords }) => [
    `the keywords ${patternText(keywords?.plain)} and ${patternText(keywords?.lists)}; texts and numbers in \`enum\``,
    'others are said in descriptions',
  ],
  strict: ({ strict: rules }) => [
    `for \`strict\`: ${patternText(rules?.keywords.plain)}; formats ${patternText(rules?.keywords.formats)}; at most ${[
      `${number(rules?.mostProperties)} properties`,
      `${number(rules?.mostLevels)} levels`,
      `${number(rules?.mostEnumValues)} values of enums`,
      `${number(rules?.mostCharacters)} characters of names and values`,
      `${number(rules?.longEnum.characters)} in an enum of more than ${number(rules?.longEnum.values)} values`,
    ].join(', ')}`,
    'others are said in descriptions; a tool that is larger, or has any property, is sent without `strict`',
  ],
  toolKinds: () => [
    'by Responses, the kinds of tools `custom`, `local_shell`, `shell`, `apply_patch` and `tool_search` that a caller of `/v1/responses` has declared',
    'functions, also for a model that refuses a kind; the caller gets calls of the kind',
  ],
  mostTools: ({ mostTools }) => [`at most ${number(mostTools)} tools`, 'the last ones are left out'],
  mostItems: ({ mostItems }) => [
    `\`maxItems\` that add up to at most ${number(mostItems)} in a tool`,
    'said in descriptions',
  ],
  mostDescription: ({ mostDescription }) => [
    `descriptions of at most ${number(mostDescription)} characters`,
    'the rest goes to that of the arguments',
  ],
}

function patternText(pattern: RegExp | undefined): string {
  return `\`${pattern?.source ?? ''}\``
}

function number(value = 0): string {
  return value.toLocaleString('en')
}

const RULES: readonly Rule[] = [
  'toolNames',
  'keys',
  'refusedAtTop',
  'needsProperties',
  'keywords',
  'strict',
  'toolKinds',
  'mostTools',
  'mostItems',
  'mostDescription',
]

const HEAD = ['Provider', 'Takes', 'Else', 'Source']

/** Returns docs/schemas.md with the table of what providers take of tools. */
export function withDialects(page: string): string {
  const providers = new Map<string, string[]>()
  for (const [dialect, sources] of DIALECTS) {
    for (const rule of RULES) {
      if (dialect[rule] === undefined) continue
      const cells = JSON.stringify([...WORDS[rule](dialect), `[source](${sources[rule]})`])
      providers.set(cells, [...(providers.get(cells) ?? []), dialect.provider])
    }
  }
  const rows = [...providers].map(([cells, names]) => [names.join(', '), ...JSON.parse(cells)])
  return page.replace(/(?<=## Providers\n\n)(?:\|.*\n)*/, () => markdownTable([HEAD, ...rows]))
}
