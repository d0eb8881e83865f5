import type { CallFault } from '../contract/hook.ts'
import { type Compat, type LimitName, type Limits, mostCalls } from '../contract/run.ts'

/** What becomes of a fault, and what is said of a limit, where Spring AI or LangChain4j do otherwise than we do. */
interface Ways {
  /** Codes of faults that end the run. */
  readonly fatal: readonly string[]
  readonly unknownTool: (name: string) => string
  /** The text of a tool's exception without a message. */
  readonly silent: (tool: string, kind: string) => string
  readonly limit: (which: LimitName, limits: Limits, tool: string) => string | undefined
}

const WAYS: Readonly<Record<Compat, Ways>> = {
  'spring-ai': {
    fatal: ['unknown_tool'],
    unknownTool: (name) => `No ToolCallback found for tool name: ${name}`,
    silent: (tool, kind) => `Exception occurred in tool: ${tool} (${kind})`,
    limit: (which, limits, tool) => {
      if (which === 'callsPerTool') {
        return `Tool call limit (${mostCalls(limits, tool)}) exceeded for tool '${tool}'. No further calls to this tool are allowed in this turn.`
      }
      if (which !== 'calls') return undefined
      return `Total tool call limit (${limits.calls}) exceeded for this turn. No further tool calls are allowed.`
    },
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
  },
}

/** Kind and message of an error, from its stack: without a message there is no colon. */
const THROWN = /^(?:Uncaught )?([\w.]+)(?:: ?([^]*?)|(?=\n\s+at ))(?:\n\s+at [^]*)?$/

/** A fault as the library would tell it: they hand a tool's exception to the model as it is. */
export function compatFault(compat: Compat, { code, tool, detail }: CallFault): { message?: string; fatal?: boolean } {
  const ways = WAYS[compat]
  const fatal = ways.fatal.includes(code) ? { fatal: true } : {}
  if (code === 'unknown_tool') return { ...fatal, message: ways.unknownTool(tool) }
  if (code !== 'tool_failed' || detail === undefined) return fatal
  const [, kind = 'Error', message = ''] = THROWN.exec(detail) ?? [undefined, 'Error', detail]
  return { ...fatal, message: message.trim() || ways.silent(tool, kind) }
}

/** What the library says of a limit that is reached; undefined where it has none of the kind. */
export function compatLimit(compat: Compat, which: LimitName, limits: Limits, tool: string): string | undefined {
  return WAYS[compat].limit(which, limits, tool)
}

/** What the library tells the model of a call that succeeded and was undone; undefined where it undoes nothing. */
export function compatUndone(compat: Compat | undefined, tool: string, failed: string): string | undefined {
  if (compat !== 'langchain4j') return undefined
  return `Tool '${tool}' was executed successfully but was rolled back due to failure of tool '${failed}'`
}
