import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { parseJsonc } from './jsonc.ts'
import { readTextFile } from '../text-file.ts'

/** The names of wrangler's configuration files, in the order in which wrangler looks for them. */
const NAMES = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml']

/** Returns the path of the configuration in a folder, relative to the root; undefined if there is none. */
export function findConfig(root: string, folder: string): string | undefined {
  return NAMES.map((name) => join(folder, name)).find((path) => existsSync(join(root, path)))
}

/** Reads a configuration. Throws a Failure that names the file and, for TOML, the line. */
export function readConfigFile(root: string, path: string): Readonly<Record<string, unknown>> {
  try {
    return parseConfig(path, readTextFile(join(root, path)))
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Parses the text of a configuration, in the format that its path names. */
export function parseConfig(path: string, text: string): Readonly<Record<string, unknown>> {
  const value = path.endsWith('.toml') ? parseToml(text) : parseJsonc(text)
  if (!isObject(value)) throw new Error('it must be an object')
  return value
}
