import { isDeeper, MOST_LEVELS } from '../contract/json.ts'
import { readTextFile } from './text-file.ts'

/**
 * Reads a JSON file. Throws an Error with the reason if it cannot be read, or is nested more deeply than an edge
 * accepts.
 */
export function readJsonFile(path: string): unknown {
  const value: unknown = JSON.parse(readTextFile(path))
  if (isDeeper(value, MOST_LEVELS)) throw new Error(`it is nested over ${MOST_LEVELS} levels deep`)
  return value
}
