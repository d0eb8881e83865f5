import type { Tool, ToolListing, ToolSource } from '../../contract/tool.ts'
import { describeBinding } from '../worker/describe.ts'
import { merge } from './merge.ts'
import { callService } from '../worker/call.ts'
import type { ToolBinding } from '../worker/answer.ts'

export interface ServiceOptions {
  /** Service bindings to tool Workers, by the binding's name. */
  readonly bindings: Readonly<Record<string, ToolBinding>>
  /** Which tools are offered by default. */
  readonly offered: (name: string) => boolean
  /** Holds back what has changed of a binding's tools (`holdBack`), where it is to be. Default: nowhere. */
  readonly hold?: (binding: string) => ((tools: readonly Tool[]) => Promise<ToolListing>) | undefined
  readonly now?: () => number
  /** How long one Worker may take to describe itself. Default 5 s. */
  readonly describeMs?: number
}

/** The tools of all bound tool Workers, and of each by itself. */
export interface ServiceSource extends ToolSource {
  /** The tools of one binding, or undefined where there is no such binding. */
  bound(binding: string): ToolSource | undefined
}

type Place = readonly [name: string, binding: ToolBinding]

/**
 * Finds the tools of the tool Workers that are bound to this one. All are asked at once and in their own time: one that
 * is absent, slow, broken or lying is listed as unavailable, and takes no other down.
 */
export function serviceSource(options: ServiceOptions): ServiceSource {
  const { bindings, offered, now = Date.now, describeMs: timeoutMs = 5000 } = options
  const listPlace = async ([place, binding]: Place): Promise<ToolListing> => {
    const described = await describeBinding(binding, { now, timeoutMs })
    if (!described.ok) return { tools: [], unavailable: [{ origin: 'service', place, reason: described.reason }] }
    const hold = options.hold?.(place)
    const describe = () => describeBinding(binding, { now, timeoutMs, fresh: true })
    const tools = described.tools.map((definition) => ({
      definition,
      origin: 'service' as const,
      place,
      offered: offered(definition.name),
      ...callService(definition, { binding, face: described.face, describe, exact: hold !== undefined }),
    }))
    // Before a name counts beside those of other places: what is held back takes none of theirs down.
    return hold ? hold(tools) : { tools, unavailable: [] }
  }
  const sourceOf = (places: readonly Place[]): ToolSource => {
    const list = async () => merge(await Promise.all(places.map(listPlace)))
    return {
      list,
      offered: async () => (await list()).tools.filter((tool) => tool.offered),
      find: async (names) => {
        const { tools } = names.length === 0 ? { tools: [] } : await list()
        return tools.filter((tool) => names.includes(tool.definition.name))
      },
    }
  }
  const places = Object.entries(bindings)
  return {
    ...sourceOf(places),
    bound: (name) => {
      const place = places.find(([each]) => each === name)
      return place && sourceOf([place])
    },
  }
}
