import type { Acceptances } from '../../contract/acceptance.ts'
import type { Tool, ToolListing } from '../../contract/tool.ts'
import { digestOf } from '../definition-digest.ts'

/**
 * Lists tools, but holds back those that have changed since they were accepted: these are listed as unavailable, with
 * their new definition, until that is accepted too. The first definition of a name is accepted automatically. A tool is
 * also held back if its accepted definition cannot be read.
 */
export async function gateTools(tools: readonly Tool[], acceptances: Acceptances): Promise<ToolListing> {
  const candidates = await Promise.all(
    tools.map(async ({ definition, origin, place }) => {
      const { server } = definition.metadata ?? {}
      const bringer = typeof server === 'string' ? server : undefined
      return { name: definition.name, hash: await digestOf(definition), definition, origin, place, server: bringer }
    }),
  )
  const decisions = await acceptances.of(
    candidates.map(({ name, place, server, hash, definition }) => ({ name, place, server, hash, definition })),
  )
  const heldTools = candidates.flatMap(({ name, hash, definition, origin, place }, index) => {
    const { hash: acceptedHash, fault } = decisions[index] ?? {}
    if (acceptedHash === hash) return []
    const explanation =
      acceptedHash === undefined
        ? `its accepted definition is unknown: ${fault}`
        : `it has changed since it was accepted. To accept it now: POST /tools/${name}/accept { "hash": "${hash}" }`
    const reason = `The tool "${name}" is held back: ${explanation}`
    return [
      { origin, place, reason, pending: { definition, hash, ...(acceptedHash !== undefined && { acceptedHash }) } },
    ]
  })
  const changed = new Set(heldTools.map(({ pending: { definition } }) => definition))
  return { tools: tools.filter(({ definition }) => !changed.has(definition)), unavailable: heldTools }
}
