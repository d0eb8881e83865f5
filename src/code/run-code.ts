import { canonicalJson, sha256 } from '../contract/json.ts'
import { RUN_CODE } from '../contract/program.ts'
import { failure, type Tool, type ToolDefinition } from '../contract/tool.ts'
import { signalOf } from '../tool/control.ts'
import { createKeywordIndex } from '../search/keyword-index.ts'
import { declarationsOf } from './declarations.ts'
import { type Lookups, runProgram } from './program.ts'
import type { CodeLoader } from './sandbox.ts'

/** Up to so many tools, the description has the declarations of all. */
const MOST_DECLARED = 40
/** The most characters of the list of names, about 2,000 tokens with what is around it. */
const MOST_LISTED = 6400
const MOST_FOUND = 10
const MOST_LINE = 100

/** What a program can call, as a model is told of it: tools of the edge, and those of the caller. */
export type ProgramTool = Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'outputSchema' | 'hash'>

const HOW = `Runs a program in JavaScript that calls tools, and returns what it returns. Prefer it where several calls are needed, above all where one needs the results of others, or where much data is to be reduced to little: only what the program returns or prints is read.

\`code\` is the body of an async function, without imports and without network. \`await tools.name(input)\` calls a tool and gives its structured result, else its text; a call that fails throws an Error with \`code\`. Run independent calls at once, with Promise.all. \`return\` the answer, small; \`console.log\` prints. The time limit counts waiting, and calls may need a person's approval: then the program continues later.`

const INPUT_SCHEMA = {
  type: 'object',
  properties: { code: { type: 'string', description: 'The body of an async function, in JavaScript' } },
  required: ['code'],
  additionalProperties: false,
} as const

/** Returns the text about a program's tools, whose size is bounded whatever their number. */
function textAbout(tools: readonly ProgramTool[]): string {
  if (tools.length <= MOST_DECLARED) return declarationsOf(tools)
  const lookups =
    '`await tools.$describe("name", …)` gives the declarations of tools, and `await tools.$search("what for")` those of the tools that fit best. Print them, before you call a tool that you do not know.'
  const lines = tools.map(({ name, description }) => `${name}: ${firstLine(description)}`)
  const list = lines.join('\n')
  return list.length <= MOST_LISTED ? `${lookups}\n\n${list}` : `There are ${tools.length} tools. ${lookups}`
}

function firstLine(description: string): string {
  const line = description.replace(/\s+/g, ' ').trim()
  return line.length > MOST_LINE ? `${line.slice(0, MOST_LINE - 1)}…` : line
}

/** Makes the answers to what programs ask about tools. */
function lookupsOf(tools: readonly ProgramTool[]): Lookups {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const declared = (names: readonly string[]) => declarationsOf(names.flatMap((name) => byName.get(name) ?? []))
  return {
    describe: async (names) => {
      const unknown = names.filter((name) => !byName.has(name))
      const note = unknown.length > 0 ? `\n// There is no tool ${unknown.join(', ')}.` : ''
      return `${declared(names)}${note}`
    },
    search: async (question) => {
      const index = createKeywordIndex()
      await index.add(tools)
      const matches = await index.search(question, MOST_FOUND)
      return matches.length > 0 ? declared(matches.map(({ name }) => name)) : '// No tool fits. Try other words.'
    },
  }
}

/** Makes the tool with which a model runs programs over these tools. */
export async function runCodeTool(loader: CodeLoader, tools: readonly ProgramTool[]): Promise<Tool> {
  const declaration = { name: RUN_CODE, description: `${HOW}\n\n${textAbout(tools)}`, inputSchema: INPUT_SCHEMA }
  const definition: ToolDefinition = {
    ...declaration,
    version: '1',
    hash: await sha256(canonicalJson(declaration)),
    // What a program does is done by its calls, and each of them is judged by itself.
    annotations: { readOnly: false, openWorld: false },
    callers: ['model'],
  }
  const lookups = lookupsOf(tools)
  return {
    definition,
    origin: 'inline',
    place: RUN_CODE,
    offered: true,
    makesCalls: true,
    call: async ({ arguments: { code } }, control) => {
      if (typeof code !== 'string' || code.trim() === '') {
        return failure('invalid_arguments', `${RUN_CODE}: code: expected the body of an async function, as text.`)
      }
      if (!control.calls) return failure('code_unavailable', 'Programs can only be run in a run.')
      return runProgram(withoutFence(code), { loader, calls: control.calls, lookups, signal: signalOf(control) })
    },
  }
}

/** Removes a code fence, as models write it around code, and keeps the numbers of the lines. */
function withoutFence(code: string): string {
  const [, body] = /^\s*```(?:js|javascript|ts|typescript)?[ \t]*\n([^]*?)\n?```\s*$/.exec(code) ?? []
  return body ?? code
}
