import type { Acceptance, AcceptanceService, Acceptances, ToolFingerprint } from '../../contract/acceptance.ts'
import type { Author } from '../../contract/catalogue.ts'
import type { Report } from '../../contract/setup.ts'
import { ACCEPTED_KEY, acceptedKey } from '../stored/copy.ts'
import { messageOf } from '../../contract/thrown.ts'
import { currentIndex, type IndexMemory, ownWrite } from '../stored/index-memory.ts'
import type { ToolNamespace } from '../stored/version-cache.ts'

export interface AcceptedOptions {
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

const memories = new WeakMap<AcceptedOptions['namespace'], Memory>()

/**
 * Tells which definitions of tools are accepted, by the catalogue's copy in KV, which is cached for ten seconds. For a
 * tool that the copy does not hold, or if KV fails, the catalogue itself is asked: a tool that is missing from the copy
 * need not be new. A change is reported once in an isolate, as `tool.held`.
 */
export function acceptedTools({ namespace, catalogue, report, now = Date.now }: AcceptedOptions): Acceptances {
  const memory: Memory = memories.get(namespace) ?? { at: -Infinity, own: new Map(), last: new Map() }
  memories.set(namespace, memory)
  const accept = async (tools: readonly ToolFingerprint[], by?: Author): Promise<void> => {
    const accepted = tools.length === 0 ? [] : await catalogue.accept(tools, by)
    for (const [index, tool] of tools.entries()) {
      const acceptance = accepted[index]
      if (acceptance) ownWrite(memory, acceptedKey(tool), acceptance)
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
        const accepted = hashOf(memory, tool)
        if (accepted === undefined) return { fault }
        const { name, place, hash } = tool
        const isNews = memory.last.get(acceptedKey(tool)) !== hash
        if (hash !== accepted && isNews) report({ event: 'tool.held', name, place, accepted, hash })
        memory.last.set(acceptedKey(tool), hash)
        return { hash: accepted }
      })
    },
  }
}

function hashOf({ own, index }: Memory, tool: ToolFingerprint): string | undefined {
  const key = acceptedKey(tool)
  return own.get(key)?.hash ?? index?.hashOf(key)
}
