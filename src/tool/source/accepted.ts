import type { Acceptance, AcceptanceService, AcceptedTools, SeenTool } from '../../contract/acceptance.ts'
import type { Author } from '../../contract/catalogue.ts'
import type { Report } from '../../contract/setup.ts'
import { ACCEPTED_KEY, acceptedKey } from '../stored/copy.ts'
import { messageOf } from '../thrown.ts'
import { currentIndex, type IndexMemory, ownWrite } from './index-memory.ts'
import type { ToolNamespace } from './shelf.ts'

export interface AcceptedOptions {
  /** Where the copy is. */
  readonly namespace: Pick<ToolNamespace, 'get'>
  /** Where what is accepted is recorded. */
  readonly catalogue: AcceptanceService
  readonly report: Report
  readonly now?: () => number
}

interface Memory extends IndexMemory<Acceptance> {
  /** The hash of each tool as it was seen last. */
  readonly last: Map<string, string>
}

const memories = new WeakMap<AcceptedOptions['namespace'], Memory>()

/**
 * What is accepted of tools, read from the catalogue's copy in KV, and remembered for ten seconds. Of what the copy does
 * not hold, as where KV fails, the catalogue is asked: that a tool is missing from the copy never means that it is new.
 * A change is reported once in an isolate, as `tool.held`.
 */
export function acceptedTools({ namespace, catalogue, report, now = Date.now }: AcceptedOptions): AcceptedTools {
  const memory: Memory = memories.get(namespace) ?? { at: -Infinity, own: new Map(), last: new Map() }
  memories.set(namespace, memory)
  const accept = async (tools: readonly SeenTool[], by?: Author): Promise<void> => {
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
        fault = messageOf(error)
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

function hashOf({ own, index }: Memory, tool: SeenTool): string | undefined {
  const key = acceptedKey(tool)
  return own.get(key)?.hash ?? index?.hashOf(key)
}
