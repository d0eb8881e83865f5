import { readFileSync } from 'node:fs'
import { parseStored } from '../definitions/definition.ts'

/**
 * Returns what an edge would refuse about a stored definition, by the path of its file. An empty list means nothing.
 * Throws an Error if the file is missing or not JSON.
 *
 * @example
 * expect(definitionIssues('tools/definitions/rate.json')).toEqual([])
 */
export function definitionIssues(file: string): readonly string[] {
  const parsed = parseStored(JSON.parse(readFileSync(file, 'utf8')))
  return parsed.ok ? [] : parsed.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
}
