import { printText } from './command/terminal.ts'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { TOOL_NAME } from '../contract/id.ts'
import type { EdgeAddress } from './edge.ts'
import { Failure } from './failure.ts'
import { listAllTools } from './listing.ts'
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
  if (out === undefined) printText(text)
  else {
    mkdirSync(dirname(resolve(root, out)), { recursive: true })
    writeFileSync(resolve(root, out), text)
    printText(`${names.length} tools written to ${out}\n`)
  }
}

/**
 * Returns the names of all tools that an edge lists as available, in the order of the listing. Throws a Failure for a name
 * that no tool can have: the names become code.
 */
export async function toolNames(edge: EdgeAddress): Promise<readonly string[]> {
  const names = (await listAllTools(edge)).flatMap(({ name, available }) => (available ? name : []))
  const other = names.find((name) => !TOOL_NAME.test(name))
  if (other !== undefined)
    throw new Failure(`The edge lists ${JSON.stringify(other)}, which is not the name of a tool.`)
  return names
}

/** Formats names as a type for `createClient<ToolName>`. No character of a tool's name needs an escape. */
export function toolTypes(names: readonly string[]): string {
  const union = names.length === 0 ? ' never' : names.map((name) => `\n  | '${name}'`).join('')
  return `/** The tools of an edge, by \`types\` of its command line: \`createClient<ToolName>({ url, key })\`. */
export type ToolName =${union}
`
}
