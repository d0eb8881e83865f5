import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isObject } from '../contract/json.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'
import { addressOf } from './remote/address.ts'

export interface TypesOptions {
  /** The repository's folder. */
  readonly root: string
  /** Provides EDGECALL_KEY, and EDGECALL_URL if no `url` is given. */
  readonly env: NodeJS.ProcessEnv
  readonly url?: string | undefined
  /** The file to write, relative to the root. Default: the types are printed. */
  readonly out?: string | undefined
}

/**
 * Writes a TypeScript type with the names of an edge's tools. Throws a Failure if the edge does not answer or refuses.
 */
export async function writeTypes({ root, env, url, out }: TypesOptions): Promise<void> {
  const names = await toolNames(addressOf({ root, env, url }))
  const text = toolTypes(names)
  if (out === undefined) process.stdout.write(text)
  else {
    mkdirSync(dirname(resolve(root, out)), { recursive: true })
    writeFileSync(resolve(root, out), text)
    process.stdout.write(`${names.length} tools written to ${out}\n`)
  }
}

/** The most tools of one page of the listing. */
const PAGE = 1000

/** Returns the names of all tools that an edge lists as available, in the order of the listing. */
export async function toolNames(edge: EdgeAddress): Promise<readonly string[]> {
  const names: string[] = []
  for (let after = ''; ;) {
    const path = `/tools?limit=${PAGE}&after=${encodeURIComponent(after)}`
    const answer = await send(edge, { method: 'GET', path })
    if (!answer.ok) throw await refusal('The tools were not listed', answer)
    const page: unknown = await answer.json()
    const tools = (Array.isArray(page) ? page : []).filter(isObject)
    names.push(...tools.flatMap(({ name, available }) => (available === true ? String(name) : [])))
    if (tools.length < PAGE) return names
    after = String(tools.at(-1)?.['name'])
  }
}

/** Formats names as a type for `createClient<ToolName>`. No character of a tool's name needs an escape. */
export function toolTypes(names: readonly string[]): string {
  const union = names.length === 0 ? ' never' : names.map((name) => `\n  | '${name}'`).join('')
  return `/** The tools of an edge, by \`types\` of its command line: \`createClient<ToolName>({ url, key })\`. */
export type ToolName =${union}
`
}
