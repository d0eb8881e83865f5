import { type Declared, declarationsOf } from './declarations.ts'
import { type Lookups, runProgram } from './program.ts'
import type { CodeLoader } from './sandbox.ts'
import type { Hook } from '../contract/hook.ts'
import { canonicalJson, sha256 } from '../contract/json.ts'
import { RUN_CODE } from '../contract/program.ts'
import type { RunRequest } from '../contract/run.ts'
import { mayCall, type ToolDefinition } from '../contract/tool-definition.ts'
import { failure, type Tool } from '../contract/tool.ts'
import { createKeywordIndex } from '../search/keyword-index.ts'
import { controlSignal } from '../contract/time-limit.ts'

/**
 * Makes the hook that offers `run_code` to models, beside the tools (`code: "also"`) or in place of those that programs can
 * call (`only`). Tools that join the run later, such as those that a search finds, are offered at the end of the others:
 * what a model was sent before stays as it was. A run whose caller executes its calls has no programs. Without a loader,
 * runs that ask for programs are refused.
 */
export function codeHook(loader: CodeLoader | undefined): Hook {
  const cache = new WeakMap<object, { readonly key: string; readonly tool: Promise<Tool> }>()
  return {
    name: 'codeMode',
    brings: [RUN_CODE],
    accept: (run) => (loader || isOff(run) ? run : NO_LOADER),
    activate: (names, { run, offered, added, find }) => {
      if (!loader || isOff(run) || run.execution === 'caller') return names
      const ofEdge = [...offered.values()].filter((tool) => mayCall(tool, 'program'))
      const ofCaller: readonly ProgramTool[] = run.clientTools.map((tool) => ({ ...tool, hash: '' }))
      const tools = [...ofEdge.filter(({ name }) => !added.has(name)), ...ofCaller]
      const joinedTools = ofEdge.filter(({ name }) => added.has(name))
      if (tools.length + joinedTools.length === 0) return names
      const key = [...tools, ...joinedTools].map(({ name, hash }) => `${name} ${hash}`).join('\n')
      const cached = cache.get(offered)
      // A tool joins the run with the step in which it is first on offer.
      const findJoining = async (wanted: readonly string[]) =>
        (await find(wanted.filter((name) => names.includes(name))))
          .map(({ definition }) => definition)
          .filter((tool) => mayCall(tool, 'program'))
      const tool = cached?.key === key ? cached.tool : runCodeTool(loader, tools, { joinedTools, findJoining })
      if (cached?.key !== key) cache.set(offered, { key, tool })
      const inPrograms = new Set(tools.map(({ name }) => name))
      const others = names.filter((name) => name !== RUN_CODE && (run.code === 'also' || !inPrograms.has(name)))
      return tool.then((runCode) => [runCode, ...others])
    },
  }
}

const NO_LOADER = 'This edge runs no programs (`code`): it lacks the binding LOADER.'

function isOff({ code = 'off' }: Pick<RunRequest, 'code'>): boolean {
  return code === 'off'
}

/** Up to so many tools, the description has the declarations of all. */
const MOST_DECLARED = 40
/** The most characters of their declarations there: of one tool, and of all. */
const ROOM = { tool: 2000, all: 24_000 }
/** The most characters of the list of names, about 2,000 tokens with what is around it. */
const MOST_LISTED = 6400
const MOST_FOUND = 10
const MOST_LINE = 100

/** What a program can call, as a model is told of it: tools of the edge, and those of the caller. */
type ProgramTool = Declared & Pick<ToolDefinition, 'hash'>

const HOW = `Runs a program in JavaScript that calls tools, and returns what it returns. Prefer it where several calls are needed, above all where one needs the results of others, or where much data is to be reduced to little: only what the program returns or prints is read.

\`code\` is the body of an async function, without imports and without network. \`await tools.name(input)\` calls a tool and gives its structured result, else its text; a call that fails throws an Error with \`code\`. Numbers that JavaScript would round, such as long ids, are strings of their digits. Run independent calls at once, with Promise.all. \`return\` the answer, small; \`console.log\` prints. The time limit counts waiting, and calls may need a person's approval: then the program continues later.`

const INPUT_SCHEMA = {
  type: 'object',
  properties: { code: { type: 'string', description: 'The body of an async function, in JavaScript' } },
  required: ['code'],
  additionalProperties: false,
} as const

/** Returns the text about a program's tools, whose size is bounded whatever their number. */
function textAbout(tools: readonly ProgramTool[]): string {
  if (tools.length <= MOST_DECLARED) return declarationsOf(tools, ROOM)
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

/** The tools that programs can call beside those that the description of `run_code` names. */
interface OtherTools {
  readonly joinedTools?: readonly ProgramTool[]
  /** Finds those of these names that join the run with this step. */
  readonly findJoining?: (names: readonly string[]) => Promise<readonly ProgramTool[]>
}

type KeywordIndex = ReturnType<typeof createKeywordIndex>

/** Makes the answers to what programs ask about tools: about at most 40 at once, as many as are declared at first. */
function collectLookups(
  tools: readonly ProgramTool[],
  findJoining: NonNullable<OtherTools['findJoining']> = async () => [],
): Lookups {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  let index: Promise<KeywordIndex> | undefined
  const declared = (names: readonly string[]) => declarationsOf(names.flatMap((name) => byName.get(name) ?? []))
  return {
    describe: async (wanted) => {
      const names = [...new Set(wanted)].slice(0, MOST_DECLARED)
      const missing = names.filter((name) => !byName.has(name))
      for (const tool of missing.length > 0 ? await findJoining(missing) : []) byName.set(tool.name, tool)
      const unknown = names.filter((name) => !byName.has(name))
      const note = unknown.length > 0 ? `\n// There is no tool ${unknown.join(', ')}.` : ''
      return `${declared(names)}${note}`
    },
    search: async (question) => {
      const matches = await (await (index ??= indexOf(tools))).search(question, MOST_FOUND)
      return matches.length > 0 ? declared(matches.map(({ name }) => name)) : '// No tool fits. Try other words.'
    },
  }
}

async function indexOf(tools: readonly ProgramTool[]): Promise<KeywordIndex> {
  const index = createKeywordIndex()
  await index.add(tools)
  return index
}

/** Makes the tool with which a model runs programs over these tools, of which its description tells, and others. */
export async function runCodeTool(
  loader: CodeLoader,
  tools: readonly ProgramTool[],
  { joinedTools = [], findJoining }: OtherTools = {},
): Promise<Tool> {
  const declaration = { name: RUN_CODE, description: `${HOW}\n\n${textAbout(tools)}`, inputSchema: INPUT_SCHEMA }
  const definition: ToolDefinition = {
    ...declaration,
    version: '1',
    hash: await sha256(canonicalJson(declaration)),
    // What a program does is done by its calls, and each of them is judged by itself.
    annotations: { readOnly: false, openWorld: false },
    callers: ['model'],
  }
  const lookups = collectLookups([...tools, ...joinedTools], findJoining)
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
      return runProgram(withoutFence(code), { loader, calls: control.calls, lookups, signal: controlSignal(control) })
    },
  }
}

/** Removes a code fence, as models write it around code, and keeps the numbers of the lines. */
function withoutFence(code: string): string {
  const [, body] = /^\s*```(?:js|javascript|ts|typescript)?[ \t]*\n([^]*?)\n?```\s*$/.exec(code) ?? []
  return body ?? code
}
