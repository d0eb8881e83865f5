import type { ToolHosts } from '../../contract/definition.ts'
import { isObject, parseJson } from '../../contract/json.ts'
import { decodeText, readBody } from '../../contract/read-body.ts'
import type { Compat } from '../../contract/run-options.ts'
import { messageOf } from '../../contract/thrown.ts'
import { OutOfTime, withTimeLimit } from '../../contract/time-limit.ts'
import { failure, type Tool, type ToolOutcome } from '../../contract/tool.ts'
import { checkCodeHosts, type Code, originsOf } from './definition.ts'
import { type CodeHost, prepareCode, URL_OF_CODE } from './worker.ts'
import { redactor, type Redactor } from '../http/result.ts'
import { timedOut } from '../outcome.ts'
import { plainFault } from '../../schema/document.ts'
import { controlSignal } from '../../contract/time-limit.ts'
import { toOutcome } from '../../tool/result.ts'

export interface CodeOptions {
  /** Runs the code; absent in a deployment that runs none. */
  readonly code?: CodeHost | undefined
  readonly hosts: ToolHosts
  /** Returns the value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  readonly now?: () => number
}

/** The reason to refuse a definition with code in a deployment that runs none. */
export const CODE_IS_OFF =
  'expected a deployment that runs code: the definitions Worker has no binding LOADER (worker_loaders)'

/** Matches the platform's error for a request that nothing can settle any more. */
const HUNG = /code had hung/

/**
 * Returns the function that calls the code of a stored tool in a dynamic Worker. A call ends when the edge gives it up,
 * and at the deadline. The text of an exception is for operators alone. Expects arguments that fit the schema.
 */
export function callCode(
  { name, code }: { readonly name: string; readonly code: Code },
  { code: host, hosts, secret, now = Date.now }: CodeOptions,
): Tool['call'] {
  return async (request, control) => {
    const secrets = new Map((code.secrets ?? []).map((each) => [each, secret(each) ?? '']))
    const faults = [
      ...checkCodeHosts(code, hosts).map(({ message }) => message),
      ...[...secrets].flatMap(([each, value]) => (value === '' ? [`${each} has no value`] : [])),
    ]
    const misconfigured = (detail: string) => failure('tool_misconfigured', `The tool "${name}" is not set up.`, detail)
    if (!host) return misconfigured(CODE_IS_OFF)
    if (faults.length > 0) return misconfigured(faults.join('\n'))
    const { compat, ...context } = request.context
    const leftMs = context.deadline - now()
    // A call whose time is up already must not have an effect.
    if (leftMs <= 0)
      return failure('timeout', `The tool "${name}" was not called: the deadline of the call had passed.`)
    const grant = { tenant: context.caller.tenant, origins: originsOf(code, hosts), secrets }
    const { load, standIns } = await prepareCode(host, code, grant)
    // Stand-ins are redacted too: a caller that knows one could send it as an argument, and have the secret sent.
    const redact = redactor([...secrets.values(), ...Object.values(standIns)])
    const wanted = controlSignal(control)
    const body = JSON.stringify({ arguments: request.arguments, context: { ...context, secrets: standIns } })
    const send = async (signal: AbortSignal) => {
      const response = await load()
        .getEntrypoint()
        .fetch(URL_OF_CODE, { method: 'POST', body, signal, redirect: 'manual' })
      return readCodeResult(name, response, { redact, compat })
    }
    try {
      return await withTimeLimit(leftMs, send, wanted)
    } catch (error) {
      const detail = redact.text(messageOf(error))
      if (wanted.aborted || error instanceof OutOfTime || HUNG.test(detail)) return timedOut(name, detail)
      return failure('tool_failed', `The tool "${name}" failed.`, detail)
    }
  }
}

const MOST_BYTES = 1024 * 1024
const MOST_DETAIL = 2000
const LIMITS = { depth: 64, values: 1_000_000 }

interface ReadOptions {
  readonly redact: Redactor
  readonly compat?: Compat | undefined
}

/**
 * Turns the answer of a dynamic Worker into an outcome. It is not trusted to be that of the main module, since the module runs
 * beside it. An answer of more than 1 MiB, or that is not JSON, is a failure.
 */
async function readCodeResult(tool: string, response: Response, { redact, compat }: ReadOptions): Promise<ToolOutcome> {
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
