const PLAIN = /^[a-zA-Z_][a-zA-Z0-9_-]*$/
/** What this file makes, and what would be taken for it. */
const MADE = /_x[0-9a-f]+_|_h[0-9a-f]{16}$/
/** What providers refuse, and what would begin an escape or a hash that is none. */
const UNFIT = /^[0-9-]|_(?=x)|h(?=[0-9a-f]{16}$)|[^a-zA-Z0-9_-]/gu
const MOST = 64

/**
 * The name by which every provider takes a tool: letters, digits, `_` and `-`, a letter or `_` first, at most 64. A name
 * that is such already stays. Else each character that is not becomes `_x` and its code point in hex and `_`, as in
 * `files_x2e_read`; and what is too long is cut, and ends in `_h` and a hash of it all. The same name has the same wire
 * name everywhere, no two have one, and `nameOf` leads back. To be used once, where a foreign name comes in.
 */
export function wireName(name: string): string {
  if (name === '') throw new TypeError('A tool needs a name')
  const escaped = PLAIN.test(name) && !MADE.test(name) ? name : name.replace(UNFIT, escape)
  if (escaped.length <= MOST) return escaped
  // A cut through an escape would read as another one.
  const head = escaped.slice(0, MOST - 18).replace(/_(?:x[0-9a-f]*)?$/, '')
  return `${head}_h${hashOf(name)}`
}

/**
 * The name that a wire name stands for, or undefined for one that was cut: its definition's title says it. Never throws:
 * what escapes no character stays.
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

/** FNV-1a of 64 bits over UTF-16 units, in hex. It tells names apart, and keeps no secret. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let at = 0; at < text.length; at++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n)
  }
  return hash.toString(16).padStart(16, '0')
}
