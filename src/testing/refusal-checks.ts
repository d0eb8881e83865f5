import { isObject } from '../contract/json.ts'
import type { ToolDefinition, ToolOutcome, ToolService } from '../contract/tool.ts'
import { newContext } from './context.ts'
import type { ContractPart, Fault } from './fault.ts'
import { type Settled, settled } from './settled.ts'

/** Calls a tool in ways that must fail, and checks that each failure is a value that says why. */
export async function refusalFaults(service: ToolService, tool: ToolDefinition, settleMs: number): Promise<Fault[]> {
  const { name, inputSchema, hash } = tool
  const faults: Fault[] = []
  const expectFailure = async (
    check: ContractPart,
    request: { hash: string; arguments: Record<string, unknown> },
    code: string,
  ) => {
    const result = await settled(service.call({ name, ...request, context: newContext() }), settleMs)
    const message = faultOf(result, [code])
    if (message !== undefined) faults.push({ tool: name, check, message })
  }
  await expectFailure('hash', { hash: `${hash}-of-another-definition`, arguments: {} }, 'schema_mismatch')
  for (const wrong of wrongArguments(inputSchema))
    await expectFailure('bad-input', { hash, arguments: wrong }, 'invalid_arguments')
  return faults
}

/** Returns arguments that cannot fit: without the required ones, and with null for each. */
function wrongArguments({ required, properties }: ToolDefinition['inputSchema']): Record<string, unknown>[] {
  if (!Array.isArray(required) || required.length === 0) return []
  if (!isObject(properties)) return [{}]
  return [{}, Object.fromEntries(Object.keys(properties).map((key) => [key, null]))]
}

export async function unknownToolFaults(service: ToolService, settleMs: number): Promise<Fault[]> {
  const request = { name: 'no-such-tool', arguments: {}, hash: '', context: newContext() }
  const message = faultOf(await settled(service.call(request), settleMs), ['unknown_tool', 'schema_mismatch'])
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
