import type { CatalogueTool } from '../tool/catalogue.ts'

/** A question to begin with, and the tool that answers it. */
export interface Example {
  readonly question: string
  readonly tool: string
  /** What a call of the tool does to the world. */
  readonly effect: 'only reads' | 'asks for approval' | 'changes data'
}

const MOST = 4

/**
 * Makes questions of the tools that are offered by default, those that only read first: what a tool says of itself, as a
 * request, with the examples of its arguments.
 */
export function examplesOf(tools: readonly CatalogueTool[]): readonly Example[] {
  return tools
    .flatMap((tool): readonly (Example & { readonly rank: number })[] => {
      const { name, description = '', available, offered, inputSchema, tags } = tool
      if (!available || !offered || description === '' || isHelper(name)) return []
      const request = requestOf(firstSentence(description))
      const values = argumentExamples(inputSchema)
      const question = values.length > 0 ? `${request}: ${values.join(', ')}` : request
      const effect = effectOf(tool)
      const rank =
        (effect === 'only reads' ? 0 : effect === 'asks for approval' ? 1 : 2) + (tags?.includes('example') ? -3 : 0)
      return [{ question, tool: name, effect, rank }]
    })
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ question, tool, effect }) => ({ question, tool, effect }))
}

/** Tools with which a model works, not what a person asks for. */
function isHelper(name: string): boolean {
  return /^(?:tool_search|run_code|read_result)$/.test(name)
}

function effectOf({ annotations, approval }: CatalogueTool): Example['effect'] {
  if (approval !== undefined && approval !== 'never') return 'asks for approval'
  return annotations?.readOnly ? 'only reads' : 'changes data'
}

function firstSentence(text: string): string {
  return /^[^.!?:;\n]{3,90}/.exec(text.trim())?.[0].trim() ?? text.slice(0, 80)
}

/** Turns what a tool does, such as `Returns the time`, into a request: `Tell me the time`. */
function requestOf(text: string): string {
  const [first = '', ...others] = text.split(' ')
  const rest = others.join(' ')
  if (/^(?:returns?|gets?|tells?|shows?|lists?|fetch(?:es)?|reads?|finds?|answers?)$/i.test(first) && rest !== '') {
    const verb = /^finds?$/i.test(first) ? 'Find' : /^lists?$/i.test(first) ? 'List' : 'Tell me'
    return `${verb} ${rest}`
  }
  const imperative = /[^s]s$/.test(first)
    ? /(?:ch|sh|ss|x|z)es$/.test(first)
      ? first.slice(0, -2)
      : first.slice(0, -1)
    : first
  const request = [imperative, ...others].join(' ')
  return request.charAt(0).toUpperCase() + request.slice(1)
}

/** The examples, defaults or first choices of required arguments, where their schemas have any. */
function argumentExamples(schema: CatalogueTool['inputSchema']): string[] {
  const { properties, required } = schema ?? {}
  if (typeof properties !== 'object' || properties === null || !Array.isArray(required)) return []
  return Object.entries(properties).flatMap(([name, each]: [string, unknown]) => {
    if (!required.includes(name) || typeof each !== 'object' || each === null) return []
    const { examples, default: initial }: { examples?: unknown; default?: unknown } = each
    const value: unknown = Array.isArray(examples) ? examples[0] : initial
    return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
  })
}
