import { readFileSync } from 'node:fs'
import { depthOf, MOST_LEVELS } from '../contract/json.ts'

/** The value in a JSON file. Throws an Error that says what keeps it from being read: an edge takes none so deep either. */
export function readJsonFile(path: string): unknown {
  const text = readFileSync(path, 'utf8')
  if (depthOf(text) > MOST_LEVELS) throw new Error(`it is nested over ${MOST_LEVELS} levels deep`)
  return JSON.parse(text)
}
