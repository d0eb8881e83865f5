import { isObject } from './json.ts'
import type { RunRequest } from './run.ts'
import type { Setup } from './setup.ts'
import { isFor, type Tool, type ToolFailure, type ToolSource } from './tool.ts'

/** The provider of the model that makes the one call of a task of MCP, and its pattern among the models that are allowed. */
export const TASK_PROVIDER = 'mcp-task'
export const TASK_MODELS = `${TASK_PROVIDER}/*`
export const TASK_MODEL = `${TASK_PROVIDER}/call`

/** The call that the edge has put into the options of a task's run. */
export interface TaskCall {
  readonly tool: string
  /** As JSON. */
  readonly arguments: string
  /** What the call came to before it became a task: its tool asks for input. Default: it has not been made. */
  readonly question?: ToolFailure
}

/** Returns the call of a task from the options of its run; undefined for a run that is none. */
export function taskCallOf({ providerOptions }: Pick<RunRequest, 'providerOptions'>): TaskCall | undefined {
  const { tool, arguments: args, question } = providerOptions?.[TASK_PROVIDER] ?? {}
  if (typeof tool !== 'string' || typeof args !== 'string') return undefined
  return { tool, arguments: args, ...(isFailure(question) && { question }) }
}

/**
 * Returns the tools that a run may call: those that models are offered and, for a task, also its own tool if that is for
 * apps alone, as no model asks for the call of a task.
 */
export function toolsOfRun(
  setup: Pick<Setup, 'tools' | 'workerTools'>,
  { caller, model, providerOptions }: Pick<RunRequest, 'caller' | 'model' | 'providerOptions'>,
): Pick<ToolSource, 'find'> {
  const source = setup.tools(caller)
  const { tool: own, question } = (model === TASK_MODEL && taskCallOf({ providerOptions })) || {}
  return {
    find: async (names) => {
      const tools = await source.find(names)
      const foundNames = tools.map(({ definition }) => definition.name)
      const missing = names.filter((name) => name === own && !foundNames.includes(name))
      const others = missing.length > 0 ? await setup.workerTools?.(caller).find(missing) : undefined
      const all = [...tools, ...(others ?? []).filter((tool) => isFor('app', tool))]
      return question === undefined ? all : all.map((tool) => afterQuestion(tool, question))
    },
  }
}

/** Returns a tool that was called before and has asked a question: it is called again only with the answer. */
function afterQuestion(tool: Tool, question: ToolFailure): Tool {
  return {
    ...tool,
    call: async (request, control) => (request.context.input ? tool.call(request, control) : question),
  }
}

/** Whether a value is the failure that an edge has stored: this is for the compiler. */
function isFailure(value: unknown): value is ToolFailure {
  return isObject(value) && value['ok'] === false && isObject(value['error'])
}
