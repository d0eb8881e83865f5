import { readFileSync } from 'node:fs'
import { isDeeper, MOST_LEVELS } from '../contract/json.ts'

/**
 * Reads a JSON file. Throws an Error with the reason if it cannot be read, or is nested more deeply than an edge
 * accepts.
 */
export function readJsonFile(path: string): unknown {
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (isDeeper(value, MOST_LEVELS)) throw new Error(`it is nested over ${MOST_LEVELS} levels deep`)
  return value
}
