import type { CallFault } from '../../contract/hook.ts'
import { type Compat } from '../../contract/run-options.ts'
import { type LimitName, type Limits, mostCalls } from '../../contract/limits.ts'
import type { RunRequest } from '../../contract/run.ts'
import type { NamedTool } from '../../contract/tool-names.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'

type ReturnDirect = NonNullable<ToolDefinition['returnDirect']>

/** How Spring AI or LangChain4j treats faults and limits, where it differs from us. */
interface LibraryRules {
  /** The codes of faults that end the run. */
  readonly fatal: readonly string[]
  readonly unknownTool: (name: string) => string
  /** The text of a tool's exception that has no message. */
  readonly silent: (tool: string, kind: string) => string
  readonly limit: (which: LimitName, limits: Limits, tool: NamedTool) => string | undefined
  /** Whether a limit ends the run with a text as its answer, and not with an error. */
  readonly answersLimit: boolean
  /** Whether the error of a tool that returns its result directly is the answer, as its result would be. */
  readonly returnsErrors: boolean
  /** The modes with which all calls of a step must return their results, so that these are the answer. */
  readonly direct: readonly ReturnDirect[]
}

const LIBRARY_RULES: Readonly<Record<Compat, LibraryRules>> = {
  'spring-ai': {
    fatal: ['unknown_tool'],
    unknownTool: (name) => `No ToolCallback found for tool name: ${name}`,
    silent: (tool, kind) => `Exception occurred in tool: ${tool} (${kind})`,
    limit: (which, limits, tool) => {
      if (which === 'callsPerTool') {
        return `Tool call limit (${mostCalls(limits, tool)}) exceeded for tool '${tool.name}'. No further calls to this tool are allowed in this turn.`
      }
      if (which !== 'calls') return undefined
      return `Total tool call limit (${limits.calls}) exceeded for this turn. No further tool calls are allowed.`
    },
    answersLimit: true,
    returnsErrors: true,
    direct: ['always'],
  },
  langchain4j: {
    fatal: ['unknown_tool', 'invalid_arguments'],
    unknownTool: (name) =>
      `The LLM is trying to execute the '${name}' tool, but no such tool exists. Most likely, it is a hallucination. ` +
      'You can override this default strategy by setting the hallucinatedToolNameStrategy on the AiService',
    silent: (_, kind) => kind,
    limit: (which, { steps }) =>
      which === 'steps'
        ? `Something is wrong, exceeded ${steps} tool calling round trips (maxToolCallingRoundTrips)`
        : undefined,
    answersLimit: false,
    returnsErrors: false,
    direct: ['always', 'if-last'],
  },
}

/** Matches the class and the message of an error in its stack; without a message there is no colon. */
const THROWN = /^(?:Uncaught )?([\w.]+)(?:: ?([^]*?)|(?=\n\s+at ))(?:\n\s+at [^]*)?$/

/** Returns a fault as the library would report it: both libraries give the model the tool's exception unchanged. */
export function compatFault(compat: Compat, { code, tool, detail }: CallFault): { message?: string; fatal?: boolean } {
  const rules = LIBRARY_RULES[compat]
  const fatal = rules.fatal.includes(code) ? { fatal: true } : {}
  if (code === 'unknown_tool') return { ...fatal, message: rules.unknownTool(tool) }
  if (code !== 'tool_failed' || detail === undefined) return fatal
  const [, kind = 'Error', message = ''] = THROWN.exec(detail) ?? [undefined, 'Error', detail]
  return { ...fatal, message: message.trim() || rules.silent(tool, kind) }
}

/** Returns the library's text for a limit that is reached; undefined if it has no such limit. */
export function compatLimit(compat: Compat, which: LimitName, limits: Limits, tool: NamedTool): string | undefined {
  return LIBRARY_RULES[compat].limit(which, limits, tool)
}

/**
 * Whether the run ends with the library's text for this limit as its answer, after the calls before the one that
 * exceeds it.
 */
export function answersLimit({ compat, onLimit, limits }: RunRequest, which: LimitName | undefined): boolean {
  if (which === undefined || compat === undefined || onLimit !== 'fail') return false
  const { answersLimit: answers, limit } = LIBRARY_RULES[compat]
  return answers && limit(which, limits, { name: '' }) !== undefined
}

/** Whether the error of a tool that returns its result directly is the answer. */
export function returnsErrors(compat: Compat | undefined): boolean {
  return compat !== undefined && LIBRARY_RULES[compat].returnsErrors
}

/** Returns the modes with which all calls of a step must return their results, so that these are the answer. */
export function directModes(compat: Compat | undefined): readonly (ReturnDirect | undefined)[] {
  return compat === undefined ? ['always'] : LIBRARY_RULES[compat].direct
}

/** Whether the calls of a run are undone for a call of an unknown tool, or with arguments that do not fit. */
export function undoesForMisfits(compat: Compat | undefined, code: string, isFatal: boolean): boolean {
  // LangChain4j takes what its strategy for hallucinated names returns as the result of the call, and not as an error.
  return compat === 'langchain4j' && (code === 'invalid_arguments' || (code === 'unknown_tool' && isFatal))
}

/**
 * Whether the limit on steps counts the final answer as well, and fails the run with it. LangChain4j counts all answers of
 * a model.
 */
export function countsFinalAnswer({ compat, onLimit }: RunRequest): boolean {
  return compat === 'langchain4j' && onLimit === 'fail'
}

/** Returns the library's text for a call that succeeded and was undone; undefined if the library undoes nothing. */
export function compatUndone(compat: Compat | undefined, tool: string, failedTool: string): string | undefined {
  if (compat !== 'langchain4j') return undefined
  return `Tool '${tool}' was executed successfully but was rolled back due to failure of tool '${failedTool}'`
}
