import { isObject, parseJson } from '../../contract/json.ts'
import type { Compat } from '../../contract/run-options.ts'
import type { ToolOutcome } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import { decodeText, readBody } from '../../contract/read-body.ts'
import type { Redactor } from '../http/redact.ts'
import { plainFault } from '../../schema/plain-json.ts'
import { toOutcome } from '../../tool/result.ts'

const MOST_BYTES = 1024 * 1024
const MOST_DETAIL = 2000
const LIMITS = { depth: 64, values: 1_000_000 }

export interface ReadOptions {
  readonly redact: Redactor
  readonly compat?: Compat | undefined
}

/**
 * Turns the answer of a dynamic Worker into an outcome. It is not trusted to be that of the main module, since the module runs
 * beside it. An answer of more than 1 MiB, or that is not JSON, is a failure.
 */
export async function readCodeResult(
  tool: string,
  response: Response,
  { redact, compat }: ReadOptions,
): Promise<ToolOutcome> {
  const fail = (code: string, problem: string, detail?: string) =>
    failure(
      code,
      `The tool "${tool}" ${problem}`,
      detail === undefined ? detail : redact.text(detail).slice(0, MOST_DETAIL),
    )
  const { bytes, isComplete } = await readBody(response, MOST_BYTES)
  const text = decodeText(bytes)
  if (!isComplete) return fail('result_too_large', `answered with more than ${MOST_BYTES} bytes.`)
  const message = parseJson(text)
  if (!isObject(message)) return fail('tool_failed', 'failed.', 'the dynamic Worker answered no JSON')
  const { value, thrown: error, unserialisable } = message
  if (typeof error === 'string') return fail('tool_failed', 'failed.', error)
  if (typeof unserialisable === 'string') {
    return fail('unserialisable', 'returned a value that cannot be written as JSON.', unserialisable)
  }
  const fault = value === undefined ? undefined : plainFault(value, LIMITS)
  if (fault) return fail('result_unusable', 'answered with unusable JSON.', fault.message)
  return toOutcome(redact.json(value), compat)
}
