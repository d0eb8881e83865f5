import type { Report } from '../../contract/setup.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import {
  type Tool,
  type ToolListing,
  type ToolSource,
  ToolsUnavailable,
  type Unavailable,
} from '../../contract/tool.ts'
import { callService, describeBinding, type ToolBinding } from '../worker/call.ts'
import { merge } from './chain.ts'

export interface ServiceOptions {
  /** Service bindings to tool Workers, by the binding's name. */
  readonly bindings: Readonly<Record<string, ToolBinding>>
  /** Whether a tool is offered by default. */
  readonly offered: (definition: ToolDefinition) => boolean
  /**
   * Returns the function that holds back the changed tools of a binding (`gateTools`), if that is configured. Default:
   * none.
   */
  readonly gate?: (binding: string) => ((tools: readonly Tool[]) => Promise<ToolListing>) | undefined
  /** Receives the reason why a Worker's description cannot be used. Default: it is not reported. */
  readonly report?: Report
  readonly now?: () => number
  /** How long one Worker may take to describe itself, in milliseconds. Default 5,000. */
  readonly describeMs?: number
}

/** The source of the tools of all bound tool Workers, and of each Worker by itself. */
export interface ServiceSource extends ToolSource {
  /** Returns the source of one binding's tools, or undefined if there is no such binding. */
  sourceOfBinding(binding: string): ToolSource | undefined
  /**
   * Returns a function that names the binding which cannot be described now and may have a tool of this name: one of
   * its last description or, if this isolate has seen none, any.
   */
  undescribed(): Promise<(name: string) => string | undefined>
}

const CANNOT_TELL =
  'A tool Worker of this edge cannot be described now, and may have a tool of a name that no other has.'

type Place = readonly [name: string, binding: ToolBinding]

/**
 * Finds the tools of the tool Workers that are bound to this one. All are asked at once, each with its own time limit:
 * a Worker that is absent, slow, broken or badly described is listed as unavailable, and does not affect the others.
 */
export function serviceSource(options: ServiceOptions): ServiceSource {
  const { bindings, offered, report, now = Date.now, describeMs: timeoutMs = 5000 } = options
  /** The details that were reported last, by place. */
  const reportedDetails = new Map<string, string>()
  /** The names of the tools of each place, by its last description. */
  const lastNames = new Map<string, ReadonlySet<string>>()
  /** The tools of each list of definitions: a description is the same object as long as it is cached. */
  const toolLists = new WeakMap<readonly ToolDefinition[], readonly Tool[]>()
  const listPlace = async ([place, binding]: Place): Promise<ToolListing> => {
    const description = await describeBinding(binding, { now, timeoutMs })
    if (!description.ok) {
      const { reason, detail } = description
      if (reportedDetails.get(place) !== detail) report?.({ event: 'tools.unavailable', place, detail })
      reportedDetails.set(place, detail)
      return { tools: [], unavailable: [{ origin: 'service', place, reason }] }
    }
    reportedDetails.delete(place)
    const {
      transport,
      tools: definitions,
      source: origin = 'service',
      checksOutput = false,
      unavailable = [],
    } = description
    const gate = options.gate?.(place)
    const describe = () => describeBinding(binding, { now, timeoutMs, refresh: true })
    const tools =
      toolLists.get(definitions) ??
      definitions.map((definition): Tool => ({
        definition,
        origin,
        place,
        offered: offered(definition),
        checksOutput,
        ...callService(definition, { binding, transport, describe, exact: gate !== undefined }),
      }))
    if (!toolLists.has(definitions)) lastNames.set(place, new Set(definitions.map(({ name }) => name)))
    toolLists.set(definitions, tools)
    const missing = unavailable.map((each): Unavailable => ({ ...each, origin, place }))
    // Tools are held back before names are merged, so that a held tool is never in conflict with one of another place.
    const listing = gate ? await gate(tools) : { tools, unavailable: [] }
    return { ...listing, unavailable: [...listing.unavailable, ...missing] }
  }
  const sourceOf = (places: readonly Place[]): ToolSource => {
    const list = async () => merge(await Promise.all(places.map(listPlace)))
    return {
      list,
      offered: async () => (await list()).tools.filter((tool) => tool.offered),
      find: async (names) => {
        const { tools } = names.length === 0 ? { tools: [] } : await list()
        const wanted = new Set(names)
        return tools.filter((tool) => wanted.has(tool.definition.name))
      },
      names: async (names) => {
        const listings = await Promise.all(places.map(listPlace))
        const all = new Set(listings.flatMap(({ unavailable }) => unavailable.flatMap(({ name }) => name ?? [])))
        for (const [place] of places) for (const name of lastNames.get(place) ?? []) all.add(name)
        const present = names.filter((name) => all.has(name))
        const isUnseen = places.some(([place]) => !lastNames.has(place))
        if (isUnseen && present.length < names.length) throw new ToolsUnavailable(CANNOT_TELL)
        return new Map(present.map((name) => [name, 'visible']))
      },
    }
  }
  const places = Object.entries(bindings)
  return {
    ...sourceOf(places),
    undescribed: async () => {
      const listings = await Promise.all(places.map(listPlace))
      const down = places.filter((_, index) => listings[index]?.unavailable.some(({ name }) => name === undefined))
      return (name) => down.find(([place]) => lastNames.get(place)?.has(name) ?? true)?.[0]
    },
    sourceOfBinding: (name) => {
      const place = places.find(([each]) => each === name)
      return place && sourceOf([place])
    },
  }
}
