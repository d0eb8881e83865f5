import { setTimeout as sleep } from 'node:timers/promises'
import { TOOL_NAME } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { ToolDefinition, ToolOutcome, ToolService } from '../contract/tool.ts'
import { checkSchema } from '../schema/check.ts'
import { copied } from './copied.ts'
import { newContext } from './context.ts'

/** A part of the tool contract that a Worker does not keep. */
export interface Fault {
  /** The tool that it is about; absent for the Worker as a whole. */
  readonly tool?: string
  /** Which part, such as `describe`, `schema`, `bad-input` or `hash`. */
  readonly check: string
  /** What happened, and what should have. */
  readonly message: string
}

/** How long a call without effects may take to be refused, in milliseconds. */
const REFUSAL_MS = 10_000

/**
 * Checks that a Worker keeps the tool contract, in whatever language it is written. No call has valid arguments, so
 * that no effect takes place. Returns what is wrong; an empty list means nothing.
 *
 * @example
 * const tool = await startTool('tools/greeting')
 * expect(await checkConformance(tool.service)).toEqual([])
 */
export async function checkConformance(service: ToolService): Promise<readonly Fault[]> {
  const description = await settled(service.describe())
  if (!description.ok) return [{ check: 'describe', message: `describe() threw: ${description.reason}` }]
  const { value } = description
  if (!isObject(value) || value.contract !== 1 || !Array.isArray(value.tools)) {
    return [{ check: 'describe', message: 'describe() must answer { contract: 1, tools: [] }.' }]
  }
  const { tools } = value
  const names = tools.map(({ name }) => name)
  const twice = names.filter((name, at) => names.indexOf(name) !== at)
  const faults: Fault[] = twice.map((tool) => ({ tool, check: 'describe', message: 'Two tools have this name.' }))
  for (const tool of tools) faults.push(...definitionFaults(tool), ...(await callFaults(service, tool)))
  return [...faults, ...(await unknownToolFaults(service))]
}

function definitionFaults(tool: ToolDefinition): Fault[] {
  const { name, description, inputSchema, hash, version } = tool
  const faults: Fault[] = []
  const add = (check: string, message: string) => void faults.push({ tool: name, check, message })
  if (!TOOL_NAME.test(name)) add('describe', 'A name has 1 to 64 letters, digits, "_" or "-".')
  if (typeof description !== 'string' || description.trim() === '') add('describe', 'A description is missing.')
  if (typeof hash !== 'string' || hash === '') add('describe', 'A hash of the definition is missing.')
  if (typeof version !== 'string') add('describe', 'A version is missing.')
  if (!isObject(inputSchema) || inputSchema['type'] !== 'object') add('schema', 'inputSchema needs type "object".')
  else for (const issue of checkSchema(inputSchema)) add('schema', `inputSchema: ${issueText(issue)}`)
  return faults
}

function issueText(issue: unknown): string {
  return typeof issue === 'string' ? issue : JSON.stringify(issue)
}

/** Calls a tool in ways that must fail, and checks that each failure is a value that says why. */
async function callFaults(service: ToolService, tool: ToolDefinition): Promise<Fault[]> {
  const { name, inputSchema, hash } = tool
  const faults: Fault[] = []
  const expectFailure = async (
    check: string,
    request: { hash: string; input: Record<string, unknown> },
    codes: readonly string[],
  ) => {
    const { input, hash: requestHash } = request
    const result = await settled(service.call({ name, arguments: input, hash: requestHash, context: newContext() }))
    const message = faultOf(result, codes)
    if (message !== undefined) faults.push({ tool: name, check, message })
  }
  await expectFailure('hash', { hash: `${hash}-of-another-definition`, input: {} }, ['schema_mismatch'])
  const { required, properties } = inputSchema
  const needed = Array.isArray(required) && required.length > 0
  if (needed) await expectFailure('bad-input', { hash, input: {} }, ['invalid_arguments'])
  const wrong =
    needed && isObject(properties) ? Object.fromEntries(Object.keys(properties).map((key) => [key, null])) : undefined
  if (wrong) await expectFailure('bad-input', { hash, input: wrong }, ['invalid_arguments'])
  return faults
}

async function unknownToolFaults(service: ToolService): Promise<Fault[]> {
  const request = { name: 'no-such-tool', arguments: {}, hash: '', context: newContext() }
  const message = faultOf(await settled(service.call(request)), ['unknown_tool', 'schema_mismatch'])
  return message === undefined ? [] : [{ check: 'unknown-tool', message }]
}

/** Returns what is wrong with an outcome that must be a failure with one of these codes. */
function faultOf(result: Settled<ToolOutcome>, codes: readonly string[]): string | undefined {
  const expected = `expected a failure with the code ${codes.join(' or ')}`
  if (!result.ok) return `The call threw (${result.reason}): ${expected} as a value.`
  const { value } = result
  if (!isObject(value) || typeof value.ok !== 'boolean') return `The result is not a tool outcome: ${expected}.`
  if (value.ok) return `The call succeeded: ${expected}.`
  const { code, message } = value.error
  if (!codes.includes(code)) return `The code is "${code}": ${expected}.`
  return message.trim() === '' ? 'The failure has no message for the model.' : undefined
}

type Settled<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly reason: string }

/** Waits for an answer over RPC, as long as a refusal may take. */
async function settled<Value>(answer: PromiseLike<Value>): Promise<Settled<Value>> {
  const timer = new AbortController()
  const timeLimit = sleep(REFUSAL_MS, undefined, { signal: timer.signal, ref: false }).then(
    () => ({ ok: false as const, reason: `no answer within ${REFUSAL_MS / 1000} s` }),
    () => ({ ok: false as const, reason: '' }),
  )
  const result = await Promise.race([settledAnswer(answer), timeLimit])
  timer.abort()
  return result
}

async function settledAnswer<Value>(answer: PromiseLike<Value>): Promise<Settled<Value>> {
  try {
    return { ok: true, value: copied(await answer) }
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) }
  }
}
