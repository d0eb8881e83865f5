const STRING_OR_COMMENT = /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g
const STRING_OR_TRAILING_COMMA = /("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g

/** Parses JSON with comments and trailing commas, as wrangler.jsonc has. Throws a SyntaxError. */
export function parseJsonc(text: string): unknown {
  return JSON.parse(blanked(blankComments(text), STRING_OR_TRAILING_COMMA))
}

/**
 * Returns the text of a JSONC object with one more item at the end of the array of that name, which is added if it is
 * missing. Nothing else changes. The item is written on lines of its own, indented by two levels.
 */
export function appendToArray(text: string, name: string, item: object): string {
  const plain = blankComments(text)
  const unit = /\n([ \t]+)"/.exec(plain)?.[1] ?? '  '
  const value = JSON.stringify(item, null, unit).replaceAll('\n', `\n${unit}${unit}`)
  const end = endOfArray(plain, name)
  const close = end ?? plain.lastIndexOf('}')
  const before = plain.slice(0, close).trimEnd()
  const comma = /[[{,]$/.test(before) ? '' : ','
  const added =
    end === undefined
      ? `${comma}\n${unit}"${name}": [\n${unit}${unit}${value}\n${unit}]`
      : `${comma}\n${unit}${unit}${value}`
  const rest = text.slice(before.length)
  // What follows the last item on its line, such as a comment, stays there.
  const sameLine = /^[^\n\]}]*(?=\n)/.exec(rest)?.[0] ?? ''
  const tail = rest.slice(sameLine.length)
  const indent = end === undefined ? '' : unit
  const gap = /^\s*[\]}]/.test(tail) && !tail.startsWith('\n') ? `\n${indent}` : ''
  return `${text.slice(0, before.length)}${comma}${sameLine}${added.slice(comma.length)}${gap}${tail}`
}

/** Returns JSONC with spaces in the place of its comments, so that all offsets stay. */
export function blankComments(text: string): string {
  return blanked(text, STRING_OR_COMMENT)
}

/** Replaces matches by as many spaces, except the strings, so that all offsets stay. */
function blanked(text: string, pattern: RegExp): string {
  return text.replace(pattern, (match: string, string?: string) => string ?? match.replace(/[^\n]/g, ' '))
}

/** Returns where the array of that name in the outermost object is closed. */
function endOfArray(plain: string, name: string): number | undefined {
  let depth = 0
  let isOpen = false
  for (const { 0: token, index } of plain.matchAll(/"(?:\\.|[^"\\])*"(?:\s*:)?|[{}[\]]/g)) {
    if (token.startsWith('"')) isOpen ||= depth === 1 && token.endsWith(':') && JSON.parse(token.slice(0, -1)) === name
    else if (token === '{' || token === '[') depth += 1
    else {
      depth -= 1
      if (isOpen && depth === 1) return index
    }
  }
  return undefined
}
