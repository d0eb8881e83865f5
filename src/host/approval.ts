import { parseJson, partAt, pointerKeys } from '../contract/json.ts'
import type { Approval, Condition } from '../contract/tool-definition.ts'
import { matches } from '../contract/glob.ts'

/**
 * Returns whether a call needs a person's approval. `args` are its arguments as the text that the model wrote. An
 * argument that is missing, has another type or cannot be parsed meets no condition; without conditions, every call
 * needs approval.
 */
export function needsApproval(approval: Approval = 'never', text: string): boolean {
  if (typeof approval === 'string') return approval === 'always'
  const value = parseJson(text)
  const conditions = Object.entries(approval.unless)
  return (
    !conditions[0] ||
    !conditions.every(([pointer, condition]) => meetsCondition(partAt(value, pointerKeys(pointer)), condition))
  )
}

/**
 * What separates lines or ends texts for a tool: `*@acme.com` would else be met by another address, a line break and
 * then one of Acme.
 */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

function meetsCondition(value: unknown, { minimum, maximum, enum: values, like }: Condition): boolean {
  if (minimum !== undefined && !(typeof value === 'number' && value >= minimum)) return false
  if (maximum !== undefined && !(typeof value === 'number' && value <= maximum)) return false
  if (values && !values.some((each) => each === value)) return false
  if (!like) return value !== undefined
  return typeof value === 'string' && !CONTROL.test(value) && like.some((pattern) => isLike(pattern, value))
}

/** Matches one address of mail, without a name, a quoted part or a second address. */
const ADDRESS = /^[^\s@,;:<>()[\]\\"]+@[^\s@,;:<>()[\]\\"]+$/

/** Matches the scheme and authority of a URL, and the rest of it. */
const ADDRESS_OF_SITE = /^([a-z][a-z\d+.-]*:\/\/[^/?#\\]*)(.*)$/i

/**
 * Whether a text meets a pattern. A pattern with an `@` is met by one address alone. In one that begins as a URL, what
 * stands for the host is met by the host alone: no path of another site contains it.
 */
function isLike(pattern: string, text: string): boolean {
  const [, site, rest = ''] = ADDRESS_OF_SITE.exec(pattern) ?? []
  if (site !== undefined) {
    const [, textSite, textRest = ''] = ADDRESS_OF_SITE.exec(text) ?? []
    const isOpen = rest === '' && site.endsWith('*')
    if (textSite === undefined || /[\s@]/.test(textSite)) return false
    return matches([site], textSite) && (isOpen || matches([rest], textRest))
  }
  return (!pattern.includes('@') || ADDRESS.test(text)) && matches([pattern], text)
}
