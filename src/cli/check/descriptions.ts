import { isObject } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { ToolText } from '../../contract/tool.ts'
import { exampleIssues } from '../../schema/validate.ts'
import { createKeywordIndex } from '../../search/keyword-index.ts'
import type { CheckProblem } from './problem.ts'

/** A tool as a model is told about it, and the file to change. */
export interface ToolInFile {
  readonly file: string
  readonly tool: ToolText & Pick<ToolDefinition, 'inputExamples'>
}

/** Returns what makes it hard for a model to choose tools by their descriptions. */
export async function descriptionProblems(tools: readonly ToolInFile[]): Promise<readonly CheckProblem[]> {
  return [
    ...offerProblems(tools),
    ...tools.flatMap(exampleProblems),
    ...tools.flatMap(weaknessesOf),
    ...(await confusions(tools)),
  ]
}

/** The most characters of a description that all providers take. Each request pays for them again. */
const MOST_CHARACTERS = 1024

/** Returns the names that several tools have, and the descriptions that are longer than a model or its bill bears. */
export function offerProblems(tools: readonly ToolInFile[]): readonly CheckProblem[] {
  const namesakes = [...Map.groupBy(tools, ({ tool }) => tool.name)].flatMap(([name, [first, ...others]]) =>
    others.map(({ file }) => ({
      file,
      message: `The tool "${name}" is in ${first?.file ?? file} too: calls reach one of them, or none if they differ.`,
      remedy: 'Give one of them another name, or remove it.',
    })),
  )
  const long = tools.flatMap(({ file, tool: { name, description } }) => {
    if (description.length <= MOST_CHARACTERS) return []
    const length = description.length.toLocaleString('en')
    return [
      {
        file,
        message: `The description of ${name} has ${length} characters, which every request sends to the model.`,
        remedy: `Say it in ${MOST_CHARACTERS.toLocaleString('en')} at most, which all providers accept.`,
      },
    ]
  })
  return [...namesakes, ...long]
}

/** Returns the examples that do not fit the schema of their tool, which some providers refuse. */
function exampleProblems({ file, tool: { name, inputSchema = {}, inputExamples = [] } }: ToolInFile): CheckProblem[] {
  return exampleIssues({ inputSchema, inputExamples }).map(({ path, message }) => ({
    file,
    message: `${path} of ${name} does not fit its inputSchema: ${message}.`,
    remedy: 'Correct the example, or the schema.',
  }))
}

function weaknessesOf({ file, tool }: ToolInFile): readonly CheckProblem[] {
  const fields = undescribedFields(tool)
  const weakness = textWeakness(tool)
  return [
    ...(weakness ? [{ file, ...weakness }] : []),
    ...(fields.length === 0
      ? []
      : [
          {
            file,
            message: `${tool.name} requires ${fields.join(', ')} without a description.`,
            remedy: 'Say what the value is and how it is written, such as "Order number, such as A-1001".',
          },
        ]),
  ]
}

function textWeakness({ name, title = '', description }: ToolText): Omit<CheckProblem, 'file'> | undefined {
  const words = wordsOf(description)
  const names = new Set(wordsOf(`${name} ${title}`))
  if (words.length === 0) return { message: `${name} has no description.`, remedy: WRITE }
  if (words.every((word) => names.has(word) || ARTICLES.has(word))) {
    return { message: `The description of ${name} says no more than its name.`, remedy: WRITE }
  }
  if (!isEnglish(words) || WHEN.test(description)) return undefined
  return {
    message: `The description of ${name} does not say when to use it.`,
    remedy: 'Add a sentence such as "Use it when the user asks where an order is."',
  }
}

const WRITE = 'Say what it does, what it answers and when to use it: models choose tools by this text.'
const ARTICLES: ReadonlySet<string> = new Set(['a', 'an', 'the', 'this', 'tool'])
const WHEN = /\b(?:use[ds]?|call)\b[^.]*\b(?:when|whenever|if|for|to|before|after|instead)\b|\bwhen(?:ever)?\b/i
const ENGLISH: ReadonlySet<string> = new Set('a an and as at by for from in is of on or the to with'.split(' '))

/** Returns whether a text is probably English; what others say of when to use a tool is not known here. */
function isEnglish(words: readonly string[]): boolean {
  return words.some((word) => ENGLISH.has(word)) || words.every((word) => /^[a-z]+s?$/.test(word) && words.length < 6)
}

/** Splits a text into words, `orderStatus` too. */
function wordsOf(text: string): readonly string[] {
  const separated = text.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
  return separated.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Returns the required arguments that have neither a description nor values that explain themselves. */
function undescribedFields({ inputSchema }: ToolText): readonly string[] {
  const { properties, required } = isObject(inputSchema) ? inputSchema : {}
  if (!isObject(properties) || !Array.isArray(required)) return []
  return required.filter((name): name is string => {
    const field = typeof name === 'string' && Object.hasOwn(properties, name) ? properties[name] : undefined
    return isObject(field) && !EXPLAINING.some((key) => field[key] !== undefined && field[key] !== '')
  })
}

const EXPLAINING = ['description', 'title', 'enum', 'const', '$ref']

/** The part of its own score that another tool must reach, for the description of either, to be taken for it. */
const LIKE = 0.5

/**
 * Returns the pairs of tools that one question would confuse: a search for the description of either finds the other
 * next, with a score that is near its own.
 */
async function confusions(tools: readonly ToolInFile[]): Promise<readonly CheckProblem[]> {
  const index = createKeywordIndex()
  await index.add(tools.map(({ tool }) => tool))
  const nearest = new Map<string, string>()
  for (const { tool } of tools) {
    const matches = await index.search(tool.description, 3)
    const own = matches.find(({ name }) => name === tool.name)
    const other = matches.find(({ name }) => name !== tool.name)
    if (other && other.score >= LIKE * (own?.score ?? 0)) nearest.set(tool.name, other.name)
  }
  return tools.flatMap(({ file, tool: { name } }) => {
    const other = nearest.get(name)
    if (other === undefined || nearest.get(other) !== name || name > other) return []
    return [
      {
        file,
        message: `A question may confuse ${name} and ${other}: their descriptions say nearly the same.`,
        remedy: 'Say in each what the other one is for, or make one tool of both.',
      },
    ]
  })
}
