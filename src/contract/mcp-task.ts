import type { RunRequest } from './run.ts'
import type { Setup } from './setup.ts'
import { isFor, type ToolSource } from './tool.ts'

/** The provider of the model that makes the one call of a task of MCP, and its pattern among the models that are allowed. */
export const TASK_PROVIDER = 'mcp-task'
export const TASK_MODELS = `${TASK_PROVIDER}/*`
export const TASK_MODEL = `${TASK_PROVIDER}/call`

/** The call that the edge has put into the options of a task's run: a tool, and arguments as JSON. */
export interface TaskCall {
  readonly tool: string
  readonly arguments: string
}

/** Returns the call of a task from the options of its run; undefined for a run that is none. */
export function taskCallOf({ providerOptions }: Pick<RunRequest, 'providerOptions'>): TaskCall | undefined {
  const { tool, arguments: args } = providerOptions?.[TASK_PROVIDER] ?? {}
  return typeof tool === 'string' && typeof args === 'string' ? { tool, arguments: args } : undefined
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
  const own = model === TASK_MODEL ? taskCallOf({ providerOptions })?.tool : undefined
  return {
    find: async (names) => {
      const tools = await source.find(names)
      const foundNames = tools.map(({ definition }) => definition.name)
      const missing = names.filter((name) => name === own && !foundNames.includes(name))
      const others = missing.length > 0 ? await setup.workerTools?.(caller).find(missing) : undefined
      return [...tools, ...(others ?? []).filter((tool) => isFor('app', tool))]
    },
  }
}
