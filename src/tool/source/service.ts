import type { Tool, ToolControl, ToolListing, ToolSource, Unavailable } from '../../contract/tool.ts'
import { type Described, describeBinding, type ToolBinding } from './describe.ts'
import { merge, type PlacedTool } from './place.ts'
import { callService } from './service-call.ts'

export interface ServiceOptions {
  /** Service bindings to tool Workers, by the binding's name. */
  readonly bindings: Readonly<Record<string, ToolBinding>>
  /** Which tools are offered by default. */
  readonly offered: (name: string) => boolean
  /** Makes a control fit to cross RPC. Default: as it is, since plain functions cross too. */
  readonly toStub?: (control: ToolControl) => unknown
  readonly now?: () => number
  /** How long one Worker may take to describe itself. Default 5 s. */
  readonly describeMs?: number
}

/** The tools of all bound tool Workers, and of each by itself. */
export interface ServiceSource extends ToolSource {
  /** The tools of one binding, or undefined where there is no such binding. */
  bound(binding: string): ToolSource | undefined
}

/**
 * Finds the tools of the tool Workers that are bound to this one. All are asked at once and in their own time: one that
 * is absent, slow, broken or lying is listed as unavailable, and takes no other down.
 */
export function serviceSource(options: ServiceOptions): ServiceSource {
  const { bindings, offered, toStub = (control) => control, now = Date.now, describeMs = 5000 } = options
  const tools = (place: string, binding: ToolBinding, described: Described): PlacedTool[] => {
    if (!described.ok) return []
    const describe = () => describeBinding(binding, { now, timeoutMs: describeMs, fresh: true })
    return described.tools.map((definition) => ({
      definition,
      place,
      origin: 'service',
      offered: offered(definition.name),
      call: callService(definition, { binding, face: described.face, describe, toStub }),
    }))
  }
  const list = async (asked: readonly (readonly [string, ToolBinding])[]): Promise<ToolListing> => {
    const answers = await Promise.all(
      asked.map(async ([place, binding]) => {
        const described = await describeBinding(binding, { now, timeoutMs: describeMs })
        return { tools: tools(place, binding, described), unavailable: reasonOf(place, described) }
      }),
    )
    const merged = merge(answers.flatMap((answer) => answer.tools))
    return {
      tools: merged.tools,
      unavailable: [...answers.flatMap((answer) => answer.unavailable), ...merged.unavailable],
    }
  }
  const source = (asked: readonly (readonly [string, ToolBinding])[]): ToolSource => ({
    list: () => list(asked),
    find: async (names) => (names.length === 0 ? [] : (await list(asked)).tools.filter(isNamed(names))),
  })
  return {
    ...source(Object.entries(bindings)),
    bound: (place) => {
      const binding = Object.hasOwn(bindings, place) ? bindings[place] : undefined
      return binding && source([[place, binding]])
    },
  }
}

function isNamed(names: readonly string[]): (tool: Tool) => boolean {
  return (tool) => names.includes(tool.definition.name)
}

function reasonOf(place: string, described: Described): Unavailable[] {
  return described.ok ? [] : [{ origin: 'service', place, reason: described.reason }]
}
