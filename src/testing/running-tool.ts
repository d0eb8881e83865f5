import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ToolContext, ToolDefinition, ToolOutcome, ToolService } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { copied } from './copied.ts'
import { newContext } from './context.ts'
import { checkConformance, type Fault } from './conformance.ts'

/** How a tool Worker is started for a test. */
export interface StartToolOptions {
  /** Variables and secrets of the Worker, which win over its configuration. Default: none. */
  readonly vars?: Readonly<Record<string, string>>
}

/** A tool Worker on workerd, called as an edge calls it. */
export interface RunningTool {
  readonly definitions: readonly ToolDefinition[]
  /** The Worker's own methods. */
  readonly service: ToolService
  /** Calls a tool. `context` replaces parts of what tools are told beside their arguments. */
  call(name: string, input: Readonly<Record<string, unknown>>, context?: Partial<ToolContext>): Promise<ToolOutcome>
  /** Runs the checks of the tool contract. An empty list means that the Worker keeps it. */
  conformance(): Promise<readonly Fault[]>
  close(): Promise<void>
}

const CONFIGS = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml']
/**
 * Starts the Worker in a folder, with the configuration there. Its storage is empty, and gone when it is closed. Throws
 * an Error with wrangler's reason if the Worker does not build or start.
 *
 * @example
 * const tool = await startTool('tools/greeting')
 * await tool.call('greeting', { name: 'Ada' })
 */
export async function startTool(folder: string, { vars }: StartToolOptions = {}): Promise<RunningTool> {
  const configPath = CONFIGS.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (configPath === undefined) throw new Error(`There is no wrangler.toml in ${folder}.`)
  // Without it, each start asks the network where this machine is.
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] ??= 'false'
  const { createTestHarness } = await import('wrangler')
  const harness = createTestHarness({ workers: [{ configPath, ...(vars && { vars: { ...vars } }) }] })
  try {
    await harness.listen()
    const service: unknown = await harness.getWorker().getExport()
    if (!isToolService(service)) throw new Error(`${configPath} is not a tool Worker: it has no describe().`)
    const { tools } = copied(await service.describe())
    return runningTool(service, tools, () => harness.close())
  } catch (error) {
    await harness.close()
    throw error
  }
}

function runningTool(service: ToolService, tools: readonly ToolDefinition[], close: () => Promise<void>): RunningTool {
  return {
    definitions: tools,
    service,
    call: async (name, input, context) => {
      const definition = tools.find((tool) => tool.name === name)
      if (!definition) return failure('unknown_tool', `There is no tool "${name}" here.`)
      const request = { name, arguments: input, hash: definition.hash, context: { ...newContext(), ...context } }
      return copied(await service.call(request))
    },
    conformance: () => checkConformance(service),
    close,
  }
}

/** Tells whether this is the stub of a tool Worker; the stub of any Worker takes every name for a method. */
function isToolService(value: unknown): value is ToolService {
  return value !== null && (typeof value === 'object' || typeof value === 'function') && 'describe' in value
}
