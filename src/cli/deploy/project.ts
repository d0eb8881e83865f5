import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { readTextFile } from '../text-file.ts'

/** What package.json says of a project under `edgecall`. */
export interface ProjectIdentity {
  /** Tells the Workers of this project from those of others in the account. Absent until the first deployment. */
  readonly id?: string
  /** Begins the names of all its Workers. Default: the names of the configurations. */
  readonly prefix?: string
}

const FILE = 'package.json'
const PREFIX = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/

/** Reads `edgecall` of package.json. Throws a Failure if it cannot be read, or the prefix is not a valid name of a Worker. */
export function readIdentity(root: string): ProjectIdentity {
  const { edgecall } = readPackage(root)
  const { project: id, prefix } = isObject(edgecall) ? edgecall : {}
  if (prefix !== undefined && (typeof prefix !== 'string' || !PREFIX.test(prefix))) {
    throw new Failure(`${FILE}: edgecall.prefix must be lower-case letters, digits and hyphens, at most 40.`)
  }
  return { ...(typeof id === 'string' && { id }), ...(prefix !== undefined && { prefix }) }
}

/** Gives a project its id, in package.json, which is to be committed. Returns the id. */
export function nameProject(root: string): string {
  const id = randomBytes(6).toString('hex')
  const content = readPackage(root)
  const own = isObject(content['edgecall']) ? content['edgecall'] : {}
  writeFileSync(join(root, FILE), `${JSON.stringify({ ...content, edgecall: { project: id, ...own } }, null, 2)}\n`)
  return id
}

function readPackage(root: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(readTextFile(join(root, FILE)))
    if (isObject(content)) return content
  } catch (error) {
    throw new Failure(`${FILE} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  throw new Failure(`${FILE} must be an object.`)
}
