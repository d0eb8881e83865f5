import { readFileSync } from 'node:fs'

/**
 * Reads a file that a person or another program has written: in UTF-8 or UTF-16, with a byte order mark or without one.
 * PowerShell, for one, writes UTF-16. Throws an Error with the reason if the file cannot be read or is in another encoding.
 */
export function readTextFile(path: string): string {
  const bytes = readFileSync(path)
  const encoding = encodingOf(bytes)
  try {
    // A decoder leaves the mark of its own encoding out.
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new Error(`it is not valid ${encoding.toUpperCase()}: save it as UTF-8`)
  }
}

/** The encoding by the mark, or by the zero byte that UTF-16 has in a first character of ASCII. */
function encodingOf([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le'
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && second !== undefined)) return 'utf-16be'
  return 'utf-8'
}
