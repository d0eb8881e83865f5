import { shellCommand } from '../command/shell.ts'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isObject } from '../../contract/json.ts'
import type { EdgeAddress } from '../edge.ts'
import { Failure } from '../failure.ts'
import { family, stillRunning } from '../processes.ts'

/** The folder that stores KV and Durable Objects on this machine, relative to the root, if STATE_DIR names no other. */
export const STATE_DIR = '.wrangler/state'

/** The file in that folder which names the edge that uses it. */
const FILE = 'edgecall-dev.json'

/** An edge that runs on this machine, and the process that runs it. */
interface RunningEdge extends EdgeAddress {
  readonly pid: number
  /** When that process started; ids are reused. */
  readonly started: string
}

/**
 * Claims the state folder for the edge of this process. Returns a function that gives it back. Throws a Failure if
 * another edge uses the folder: two of them would corrupt each other's data.
 */
export function claimState(root: string, stateDir: string, edge: EdgeAddress): () => void {
  const other = findRunning(root, stateDir)
  if (other) {
    throw new Failure(
      `${stateDir} is in use by the edge on ${other.url} (process ${other.pid}).`,
      `End that one, ask it with \`${shellCommand('ask')}\`, or give this one its own data: STATE_DIR=.wrangler/other npm start`,
    )
  }
  const folder = resolve(root, stateDir)
  const path = join(folder, FILE)
  const [own] = family(process.pid)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, JSON.stringify({ ...edge, pid: process.pid, started: own?.started }), { mode: 0o600 })
  return () => rmSync(path, { force: true })
}

/** Returns the edge that uses a state folder, if it still runs. */
export function findRunning(root: string, stateDir: string): RunningEdge | undefined {
  const path = join(resolve(root, stateDir), FILE)
  const edge = existsSync(path) ? readEdge(path) : undefined
  return edge && stillRunning([{ parent: 0, ...edge }]).length > 0 ? edge : undefined
}

function readEdge(path: string): RunningEdge | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    const { url, key, pid, started } = isObject(value) ? value : {}
    if (typeof url !== 'string' || typeof pid !== 'number' || typeof started !== 'string') return undefined
    return { url, pid, started, ...(typeof key === 'string' && { key }) }
  } catch {
    return undefined
  }
}
