import { isObject, type JsonSchema } from '../contract/json.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'

/** A tool in the edge's listing, or a source of tools that is not available. */
export interface ListedTool {
  readonly name: string
  readonly source: string
  /** The operator's name for the source, such as the service binding. */
  readonly place: string
  readonly available: boolean
  /** Whether models are offered it without being told to. Default: yes. */
  readonly offered?: boolean
  /** Why it is not available. */
  readonly reason?: string
  /** The accepted hash of a tool that is held back because its definition has changed. */
  readonly accepted?: string
  readonly description?: string
  readonly title?: string
  readonly ownName?: string
  readonly tags?: readonly string[]
  readonly hash?: string
  readonly inputSchema?: JsonSchema
  readonly annotations?: { readonly readOnly?: boolean }
}

function isListedTool(value: unknown): value is ListedTool {
  if (!isObject(value)) return false
  const { name, source, place, available, reason = '' } = value
  const texts = [name, source, place, reason]
  return texts.every((text) => typeof text === 'string') && typeof available === 'boolean'
}

/** The most tools of one page of the listing. */
const PAGE = 1000

/** Lists all tools of an edge, page by page. Throws a Failure if the edge refuses. */
export async function listAllTools(edge: EdgeAddress, signal?: AbortSignal): Promise<readonly ListedTool[]> {
  const tools: ListedTool[] = []
  for (let after = ''; ;) {
    const path = `/tools?limit=${PAGE}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`
    const response = await send(edge, { method: 'GET', path }, signal)
    if (!response.ok) throw await refusal('The tools were not listed', response)
    const body: unknown = await response.json()
    const page = Array.isArray(body) ? body : []
    tools.push(...page.filter(isListedTool))
    if (page.length < PAGE) return tools
    after = String(Object(page.at(-1))['name'])
  }
}
