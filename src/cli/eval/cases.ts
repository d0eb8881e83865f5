import { resolve } from 'node:path'
import * as v from 'valibot'
import { parseExactly } from '../../contract/exact-numbers.ts'
import { Failure } from '../failure.ts'
import { readTextFile } from '../text-file.ts'

/** A call that should follow a question. */
export interface ExpectedCall {
  readonly tool: string
  /** Arguments that the call must have, others aside; in texts, each `*` stands for any text. Default: none. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined
}

/** A line of a file of cases. */
export interface EvalCase {
  /** The number of the line in the file, from 1. */
  readonly line: number
  readonly question: string
  /** The calls that should follow, in any order; empty if none should. */
  readonly calls: readonly ExpectedCall[]
  /** What the model reads as the result of a call, by the tool's name. Default: a text that says it is a stand-in. */
  readonly results: Readonly<Record<string, unknown>>
  /** Texts that the answer must contain, in any case; each `*` stands for any text. Empty: the answer is not awaited. */
  readonly answer: readonly string[]
  readonly system?: string | undefined
  /** The tools on offer instead of the default set. */
  readonly tools?: readonly string[] | undefined
}

const members = v.record(v.string(), v.unknown())

const CASE = v.strictObject({
  question: v.pipe(v.string(), v.regex(/\S/, 'expected a text')),
  calls: v.array(v.strictObject({ tool: v.string(), arguments: v.optional(members) })),
  results: v.optional(members, {}),
  answer: v.optional(v.array(v.string()), []),
  system: v.optional(v.string()),
  tools: v.optional(v.array(v.string())),
})

/** Reads a file of cases, one JSON object a line. Throws a Failure that names the first line that is not a case. */
export function readCases(root: string, file: string): readonly EvalCase[] {
  return parseCases(readContent(root, file), file)
}

/** Reads a file of a project as text. Throws a Failure that names it. */
export function readContent(root: string, file: string): string {
  try {
    return readTextFile(resolve(root, file))
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Reads the text of a file of cases, as `readCases` does. */
export function parseCases(content: string, file: string): readonly EvalCase[] {
  const cases = content
    .split('\n')
    .flatMap((text, index) => (text.trim() === '' ? [] : readCase(text, file, index + 1)))
  if (cases.length === 0) throw new Failure(`${file} has no cases.`, EXAMPLE)
  return cases
}

const EXAMPLE = `A line of it: { "question": "Where is order A-1?", "calls": [{ "tool": "orderStatus", "arguments": { "orderNumber": "A-1" } }] }`

function readCase(text: string, file: string, line: number): EvalCase {
  let value: unknown
  try {
    value = parseExactly(text)
  } catch (error) {
    throw new Failure(`${file}:${line}: ${error instanceof Error ? error.message : String(error)}`, EXAMPLE)
  }
  const parsed = v.safeParse(CASE, value)
  if (parsed.success) return { ...parsed.output, line }
  const [issue] = parsed.issues
  const path = v.getDotPath(issue)
  throw new Failure(`${file}:${line}: ${path === null ? '' : `${path}: `}${issue.message}`, EXAMPLE)
}
