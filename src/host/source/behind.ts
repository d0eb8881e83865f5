import type { Tool, ToolListing, ToolSource } from '../../contract/tool.ts'
import type { ServiceSource } from './service.ts'

/**
 * Gives the operator's own Workers precedence over the tools of others, also while a Worker cannot be described: a tool
 * of others whose name that Worker may have is held back, and listed with the reason. Until an isolate has seen a
 * description of the Worker, that applies to every name.
 */
export function behind(source: ServiceSource, own: ServiceSource): ServiceSource {
  const behindOwn = (inner: ToolSource): ToolSource => {
    const split = async (tools: readonly Tool[]): Promise<ToolListing> => {
      const holderOf = tools.length === 0 ? () => undefined : await own.undescribed()
      const heldTools = tools.flatMap(({ definition: { name }, origin, place }) => {
        const holder = holderOf(name)
        const reason = `The tool "${name}" of ${place} is held back: ${holder} may have a tool of this name, and cannot be described now.`
        return holder === undefined ? [] : [{ origin, place, name, reason }]
      })
      const heldNames = new Set(heldTools.map(({ name }) => name))
      return { tools: tools.filter(({ definition }) => !heldNames.has(definition.name)), unavailable: heldTools }
    }
    return {
      list: async (page) => {
        const listing = await inner.list(page)
        const { tools, unavailable } = await split(listing.tools)
        return { ...listing, tools, unavailable: [...listing.unavailable, ...unavailable] }
      },
      offered: async () => (await split(await inner.offered())).tools,
      find: async (names) => (await split(await inner.find(names))).tools,
    }
  }
  return {
    ...behindOwn(source),
    undescribed: () => source.undescribed(),
    sourceOfBinding: (binding) => source.sourceOfBinding(binding),
  }
}
