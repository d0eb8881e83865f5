import { readFileSync } from 'node:fs'
import { decodeStrictly } from '../contract/bytes.ts'
import { parseExactly } from '../contract/exact-numbers.ts'
import { isDeeper, MOST_LEVELS } from '../contract/json.ts'

/**
 * Reads a file that a person or another program has written: in UTF-8 or UTF-16, with a byte order mark or without one.
 * PowerShell, for one, writes UTF-16. Throws an Error with the reason if the file cannot be read or is in another encoding.
 */
export function readTextFile(path: string): string {
  const bytes = readFileSync(path)
  const encoding = encodingOf(bytes)
  const text = decodeStrictly(bytes, encoding)
  if (text === undefined) throw new Error(`it is not valid ${encoding.toUpperCase()}: save it as UTF-8`)
  return text
}

/**
 * Reads a JSON file; a number that JavaScript cannot hold is a string of its digits. Throws an Error with the reason if it
 * cannot be read, or is nested more deeply than an edge accepts.
 */
export function readJsonFile(path: string): unknown {
  const value: unknown = parseExactly(readTextFile(path))
  if (isDeeper(value, MOST_LEVELS)) throw new Error(`it is nested over ${MOST_LEVELS} levels deep`)
  return value
}

/** The encoding by the mark, or by the zero byte that UTF-16 has in a first character of ASCII. */
function encodingOf([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le'
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && second !== undefined)) return 'utf-16be'
  return 'utf-8'
}
