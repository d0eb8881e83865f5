import type { Env } from './env.ts'

/** Matches the names of variables that are secrets. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)|CREDENTIAL|HEADERS/
/** `API_KEYS` has only hashes. */
const PUBLIC_NAMES = ['API_KEYS']

/**
 * Returns the values of the secrets of an env, which its logs, tools and models must not pass on: those of the variables
 * whose names say so. Of a list, each item is a secret too, and of a header its value, also without its scheme.
 */
export function secretsOf(env: Env): string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    typeof value === 'string' && SECRET_NAME.test(name) && !PUBLIC_NAMES.includes(name) ? partsOf(name, value) : [],
  )
  return [...new Set(values)]
}

function partsOf(name: string, value: string): string[] {
  const items = value.split(',').map((item) => item.trim())
  if (!name.includes('HEADERS')) return [value, ...items]
  return items.flatMap((item) => {
    const header = item.slice(item.indexOf('=') + 1).trim()
    const decoded = decodedOf(header)
    return [header, decoded, decoded.slice(decoded.lastIndexOf(' ') + 1)]
  })
}

/** Returns a header as it is sent; as it is set, if it cannot be decoded, which is reported where headers are read. */
function decodedOf(header: string): string {
  try {
    return decodeURIComponent(header)
  } catch {
    return header
  }
}
