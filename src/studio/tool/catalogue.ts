import { computed, signal } from '@preact/signals'
import { fetchJson, part } from '../api/session.ts'
import type { HoldingPolicy } from '../../contract/policy.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'

/** A tool as the edge lists it. What is not available may lack everything but its name. */
export interface CatalogueTool extends Partial<Omit<ToolDefinition, 'name'>> {
  readonly name: string
  readonly source: string
  readonly place: string
  readonly available: boolean
  /** Whether it is offered to requests that name no tools. Older edges do not tell. */
  readonly offered?: boolean
  readonly reason?: string
  /** For a tool that is held back: the hash that was accepted; null if that is not known. */
  readonly accepted?: string | null
  /** The policies that hold for it, from `GET /tools/{name}` for a key that administers tools. */
  readonly policies?: readonly HoldingPolicy[]
}

/** The most tools that the edge lists at once. */
const MOST = 1000

/** The tools of the edge in the order of their names, once they are loaded. */
export const toolList = signal<readonly CatalogueTool[]>([])

/** The tools by name. */
export const tools = computed(() => new Map(toolList.value.map((tool) => [tool.name, tool])))

/** Loads all tools, page by page. */
export async function loadTools(): Promise<readonly CatalogueTool[]> {
  const all: CatalogueTool[] = []
  for (let after = ''; ;) {
    const page = await fetchJson<CatalogueTool[]>(`/tools?limit=${MOST}${after && `&after=${part(after)}`}`)
    all.push(...page)
    after = page.at(-1)?.name ?? ''
    if (page.length < MOST || after === '') break
  }
  toolList.value = all
  return all
}

/** Searches as the model does, best first. */
export async function searchTools(query: string): Promise<readonly CatalogueTool[]> {
  return fetchJson<CatalogueTool[]>(`/tools?limit=30&query=${part(query)}`)
}

/** A tool is held back if its definition is there but may not be called before a person accepts it. */
export function isHeld({ available, hash }: CatalogueTool): boolean {
  return !available && hash !== undefined
}
