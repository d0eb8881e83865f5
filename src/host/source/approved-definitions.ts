import type { Acceptance, Acceptances, AcceptanceService, Author, ToolFingerprint } from '../../contract/catalogue.ts'
import type { Report } from '../../contract/setup.ts'
import { ACCEPTED_KEY, acceptedKey } from '../stored/copy.ts'
import { messageOf } from '../../contract/thrown.ts'
import { currentIndex, type IndexMemory, addOwnWrite } from '../stored/index-memory.ts'
import type { ToolNamespace } from '../stored/version-cache.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { Tool, ToolListing } from '../../contract/tool.ts'
import { canonicalJson, sha256 } from '../../contract/json.ts'

export interface ApprovedOptions {
  /** Holds the catalogue's read copy. */
  readonly namespace: Pick<ToolNamespace, 'get'>
  /** Records what is accepted. */
  readonly catalogue: AcceptanceService
  readonly report: Report
  readonly now?: () => number
}

interface Memory extends IndexMemory<Acceptance> {
  /** The hash that each tool was last seen with, by `acceptedKey`. */
  readonly last: Map<string, string>
}

const memories = new WeakMap<ApprovedOptions['namespace'], Memory>()

/**
 * Reads the accepted definitions of tools from the catalogue's copy in KV, which is cached for ten seconds. If KV
 * fails, or the copy does not have a tool, the catalogue itself is asked, since a tool that is missing from the copy
 * need not be new. A change is reported once in an isolate, as `tool.held`.
 */
export function approvedDefinitions({ namespace, catalogue, report, now = Date.now }: ApprovedOptions): Acceptances {
  const memory: Memory = memories.get(namespace) ?? { readAt: -Infinity, ownWrites: new Map(), last: new Map() }
  memories.set(namespace, memory)
  const accept = async (tools: readonly ToolFingerprint[], by?: Author): Promise<void> => {
    const acceptances = tools.length === 0 ? [] : await catalogue.accept(tools, by)
    for (const [index, tool] of tools.entries()) {
      const acceptance = acceptances[index]
      if (acceptance) addOwnWrite(memory, acceptedKey(tool), acceptance)
    }
  }
  return {
    accept: (tool, by) => accept([tool], by),
    of: async (tools) => {
      if (tools.length === 0) return []
      await currentIndex(namespace, ACCEPTED_KEY, memory, now()).catch(() => {})
      let fault = 'too many tools'
      await accept(tools.filter((tool) => hashOf(memory, tool) === undefined)).catch((error: unknown) => {
        fault = 'the catalogue failed'
        report({ event: 'tool.unknown_approval', detail: messageOf(error) })
      })
      return tools.map((tool) => {
        const acceptedHash = hashOf(memory, tool)
        if (acceptedHash === undefined) return { fault }
        const { name, place, hash } = tool
        const isNew = memory.last.get(acceptedKey(tool)) !== hash
        if (hash !== acceptedHash && isNew) report({ event: 'tool.held', name, place, accepted: acceptedHash, hash })
        memory.last.set(acceptedKey(tool), hash)
        return { hash: acceptedHash }
      })
    },
  }
}

function hashOf({ ownWrites, index }: Memory, tool: ToolFingerprint): string | undefined {
  const key = acceptedKey(tool)
  return ownWrites.get(key)?.hash ?? index?.hashOf(key)
}

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
    return [{ origin, place, reason, pending: { definition, hash, acceptedHash } }]
  })
  const changed = new Set(heldTools.map(({ pending: { definition } }) => definition))
  return { tools: tools.filter(({ definition }) => !changed.has(definition)), unavailable: heldTools }
}

/**
 * Returns a hash of a definition, including its effects and policy, without its version and limits. A definition's own
 * `hash` is chosen by its Worker, and need not change when the rest does.
 */
export async function digestOf(definition: ToolDefinition): Promise<string> {
  const digest = digests.get(definition) ?? (await sha256(canonicalJson(digestedFields(definition))))
  digests.set(definition, digest)
  return digest
}

/** Digests by definition. Every run needs them, and a definition lives as long as its Worker's cached description. */
const digests = new WeakMap<ToolDefinition, string>()

function digestedFields(definition: ToolDefinition): object {
  const { hash: _hash, version: _version, timeoutMs: _timeoutMs, maxResultBytes: _bytes, ...fields } = definition
  return fields
}
