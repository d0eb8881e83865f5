import { readFileSync } from 'node:fs'
import { CORE_SCHEMA, load } from 'js-yaml'
import { MOST_LEVELS } from '../contract/json.ts'
import { readJsonFile } from './json-file.ts'

/** The most parts of a YAML document, each counted as often as aliases repeat it. */
const MOST_PARTS = 20_000_000

/**
 * Reads a document in JSON or, by the ending of its name, in YAML. Throws an Error with the reason if it cannot be read,
 * is nested more deeply than an edge accepts, or grows beyond all bounds by YAML's aliases.
 */
export function readDocumentFile(path: string): unknown {
  if (!/\.ya?ml$/i.test(path)) return readJsonFile(path)
  const value: unknown = load(readFileSync(path, 'utf8'), { schema: CORE_SCHEMA })
  checkParts(value)
  return value
}

function checkParts(document: unknown): void {
  let partsLeft = MOST_PARTS
  const visit = (value: unknown, levels: number): void => {
    if (--partsLeft < 0) throw new Error(`its aliases make more than ${MOST_PARTS} parts of it`)
    if (typeof value !== 'object' || value === null) return
    if (levels === 0) throw new Error(`it is nested over ${MOST_LEVELS} levels deep`)
    for (const inner of Object.values(value)) visit(inner, levels - 1)
  }
  visit(document, MOST_LEVELS)
}
