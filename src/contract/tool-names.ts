import { TOOL_NAME } from './id.ts'
import type { ToolDefinition } from './tool-definition.ts'

/** What the names of a tool are made of. */
export type NamedTool = Pick<ToolDefinition, 'name' | 'ownName'>

/**
 * Returns the names by which an operator knows a tool: the one on offer (`files_x2e_delete`) and the one that it stands
 * for (`files.delete`). The name that the tool has where it comes from, if that is another one, is in `foreignNames`.
 */
export function operatorNames({ name, ownName }: NamedTool): readonly string[] {
  const plain = nameOf(name) ?? (ownName !== undefined && wireName(ownName) === name ? ownName : name)
  return plain === name ? [name] : [name, plain]
}

/**
 * Returns the names that a tool has only where it comes from, such as that on an MCP server whose tools get a prefix
 * here. Its author chooses them, so they may make the host more careful, never less.
 */
export function foreignNames({ name, ownName }: NamedTool): readonly string[] {
  if (ownName === undefined || ownName === '') return []
  return [...new Set([ownName, wireName(ownName)])].filter((each) => !operatorNames({ name, ownName }).includes(each))
}

/** Returns whether a pattern, in which `*` stands for any text, matches one of the names of a tool. */
export function matchesName(pattern: string, names: readonly string[]): boolean {
  return names.some((name) => matches([pattern], name))
}

/**
 * Returns whether a list of patterns selects a tool by its names: one matches, and none of the exclusions (`!pattern`)
 * does. A list of exclusions alone selects all other tools. An exclusion also counts by the names in `foreignNames`.
 */
export function selectsTool(patterns: readonly string[], tool: NamedTool): boolean {
  const excluded = patterns.flatMap((pattern) => (pattern.startsWith('!') ? [pattern.slice(1)] : []))
  const wanted = patterns.filter((pattern) => !pattern.startsWith('!'))
  const names = operatorNames(tool)
  if (excluded.some((pattern) => matchesName(pattern, [...names, ...foreignNames(tool)]))) return false
  return (wanted.length === 0 && excluded.length > 0) || wanted.some((pattern) => matchesName(pattern, names))
}

const PLAIN = /^[a-zA-Z_][a-zA-Z0-9_-]*$/
/** Matches an escape or a hash as `wireName` writes them, or a text that would be taken for one. */
const ENCODED = /_x[0-9a-f]+_|_h[0-9a-f]{16}$/
/** Matches a character that providers refuse, or that begins a text which would be taken for an escape or a hash. */
const DISALLOWED = /^[0-9-]|_(?=x)|h(?=[0-9a-f]{16}$)|[^a-zA-Z0-9_-]/gu
const MAX_LENGTH = 64

/**
 * Returns a name that every provider accepts for a tool: at most 64 letters, digits, `_` and `-`, a letter or `_`
 * first. A name that fits is returned unchanged. In any other, each unfit character becomes `_x`, its code
 * point in hex and `_`, as in `files_x2e_read`; a name that is too long is cut, and ends in `_h` and a hash of the
 * whole name. A name has the same wire name everywhere, no two names share one, and `nameOf` leads back. Call it once,
 * where a foreign name comes in. Throws a TypeError for an empty name.
 *
 * @example
 * wireName('files.read') // 'files_x2e_read'
 */
export function wireName(name: string): string {
  if (name === '') throw new TypeError('A tool needs a name')
  const escaped = PLAIN.test(name) && !ENCODED.test(name) ? name : name.replace(DISALLOWED, escape)
  if (escaped.length <= MAX_LENGTH) return escaped
  // An escape that is cut in two could be read as another one.
  const head = escaped.slice(0, MAX_LENGTH - 18).replace(/_(?:x[0-9a-f]*)?$/, '')
  return `${head}_h${hashOf(name)}`
}

/**
 * Returns the name under which an edge has a tool, from that name or from the tool's own, such as `files.read`. To be
 * used where a request names a tool.
 */
export function edgeName(name: string): string {
  return name === '' || TOOL_NAME.test(name) ? name : wireName(name)
}

/**
 * Returns the name that a wire name stands for, or undefined for a name that was cut: the definition's title has it.
 * Never throws: an escape of no character stays as it is.
 *
 * @example
 * nameOf('files_x2e_read') // 'files.read'
 */
export function nameOf(wire: string): string | undefined {
  if (/_h[0-9a-f]{16}$/.test(wire)) return undefined
  return wire.replace(/_x([0-9a-f]+)_/g, (escape, hex: string) => {
    const code = Number.parseInt(hex, 16)
    return code > 0x10ffff ? escape : String.fromCodePoint(code)
  })
}

function escape(character: string): string {
  return `_x${character.codePointAt(0)?.toString(16)}_`
}

/**
 * Returns the 64-bit FNV-1a hash of the UTF-16 units, in hex. It tells names apart, and is not a cryptographic hash.
 */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let index = 0; index < text.length; index++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n)
  }
  return hash.toString(16).padStart(16, '0')
}

/** Returns whether a name matches any of the globs, in which each `*` stands for any text, even none. */
export function matches(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesGlob(glob, name))
}

function matchesGlob(glob: string, name: string): boolean {
  const [head = '', ...rest] = glob.split('*')
  const tail = rest.pop()
  if (tail === undefined) return head === name
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
  // The leftmost match of each piece leaves the most room for the next, so that no backtracking is needed.
  let at = head.length
  for (const piece of rest) {
    const index = name.indexOf(piece, at)
    if (index === -1) return false
    at = index + piece.length
  }
  return at <= name.length - tail.length
}
