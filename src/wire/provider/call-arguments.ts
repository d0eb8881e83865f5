import { canonicalJson, isObject, parseJson } from '../../contract/json.ts'

/** The arguments of one call, as far as they have arrived. */
export interface CallArguments {
  text: string
  /** Whether they are a `{}` that came at once: no reader is shown it, since the arguments may follow. */
  isPlaceholder?: boolean
  /** Whether each fragment repeats what came before it. */
  isCumulative?: boolean
}

/**
 * Adds a fragment to the arguments of a call, and returns what it adds to what readers were shown. Some servers send `{}`
 * in place of arguments that follow (gateways before Bedrock), all arguments so far with each fragment (Qianfan), or all
 * once more at the end.
 */
export function addArguments(call: CallArguments, fragment: string): string {
  const isFirst = call.text.trim() === ''
  if (isFirst && isEmptyObject(fragment)) {
    call.text = fragment
    call.isPlaceholder = true
    return ''
  }
  if (call.isPlaceholder) {
    if (fragment.trim() === '' || isEmptyObject(fragment)) return ''
    call.isPlaceholder = false
    if (fragment.trimStart().startsWith('{')) call.text = ''
    else fragment = call.text + fragment
    call.text = fragment
    return fragment
  }
  if (isRepeated(call.text, fragment)) return ''
  call.isCumulative ||= !isFirst && isContinued(call.text, fragment)
  const addition = call.isCumulative && fragment.startsWith(call.text) ? fragment.slice(call.text.length) : fragment
  call.text += addition
  return addition
}

/** Returns what readers were not shown of the arguments of a call that is complete. */
export function heldArguments({ text, isPlaceholder }: CallArguments): string {
  return isPlaceholder ? text : ''
}

/** Whether a text is an empty JSON object. */
export function isEmptyObject(text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text)
}

/** Whether this arguments text is complete: nothing but blanks can follow it. */
export function isComplete(text: string): boolean {
  // Checked for every fragment: the last character rules out nearly all texts without parsing them.
  return text.trimEnd().endsWith('}') && parseJson(text) !== undefined
}

/** Whether a fragment says complete arguments once more, if need be with other blanks. */
function isRepeated(text: string, fragment: string): boolean {
  if (!/^\s*\{/.test(fragment) || !isComplete(text) || !isComplete(fragment)) return false
  const [first, second] = [parseJson(text), parseJson(fragment)]
  return text === fragment || (isObject(first) && isObject(second) && canonicalJson(first) === canonicalJson(second))
}

/**
 * Whether a fragment repeats all text before it, and cannot continue it: in JSON, nothing that begins with a brace and a
 * name stands where a name or a text has begun. Where a value is expected, an object may stand.
 */
function isContinued(text: string, fragment: string): boolean {
  return fragment.startsWith(text) && /^\s*\{\s*"\w/.test(fragment) && !/[:,[]\s*$/.test(text)
}
