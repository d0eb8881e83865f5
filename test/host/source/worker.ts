import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import type { ToolRequest } from '../../../src/contract/tool.ts'
import type { ToolBinding } from '../../../src/host/worker/call.ts'
import { text } from './calls.ts'

export function definition(name: string, rest: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object' },
    version: '1',
    hash: `h-${name}`,
    annotations: {},
    ...rest,
  }
}

/**
 * A tool Worker whose tools can be changed, and what it was asked. Without an `answer` it answers as a Worker does: calls of
 * what it has now are done, those of another definition are not.
 */
export function worker(tools: readonly ToolDefinition[], answer?: (request: ToolRequest) => unknown) {
  const now = new Map(tools.map((tool) => [tool.name, tool]))
  const requestOptions = { describe: 0, requests: [] as ToolRequest[] }
  const answerNow = ({ name, hash }: ToolRequest) =>
    now.get(name)?.hash === hash
      ? text('done')
      : { ok: false, error: { code: 'schema_mismatch', message: 'It has changed.' } }
  const binding: ToolBinding = {
    describe: async () => {
      requestOptions.describe += 1
      return { contract: 1, tools: [...now.values()] }
    },
    call: async (request) => {
      requestOptions.requests.push(request as ToolRequest)
      return (answer ?? answerNow)(request as ToolRequest)
    },
  }
  const change = (name: string, rest: Partial<ToolDefinition>) => void now.set(name, definition(name, rest))
  return { binding, traffic: requestOptions, change }
}
