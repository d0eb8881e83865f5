import { expect, test } from 'vitest'
import type { ToolRequest } from '../../../src/contract/tool.ts'
import { serviceSource } from '../../../src/host/source/service.ts'
import { parseShallow } from '../../../src/contract/json.ts'
import { changesIn, NUMBER_PARTS } from '../../fixtures/json-numbers.ts'
import { call } from './calls.ts'
import { definition } from './worker.ts'

const description = { contract: 1, tools: [definition('echo')] }
const missing = (method: string) => () =>
  Promise.reject(new TypeError(`The RPC receiver does not implement the method "${method}".`))

test.each(['RPC', 'fetch'])('of 10,000 numbers, a tool Worker gets and answers each over %s', async (transport) => {
  for (const { numbers, list, text } of NUMBER_PARTS) {
    const got: unknown[] = []
    const overRpc = {
      describe: async () => description,
      call: async (request: unknown) => {
        const { arguments: structured } = request as ToolRequest
        got.push(structured)
        return { ok: true, content: [{ type: 'text', text: list }], structured }
      },
    }
    const overFetch = {
      describe: missing('describe'),
      call: missing('call'),
      fetch: async (url: string, init?: RequestInit) => {
        if (url.endsWith('/describe')) return Response.json(description)
        got.push(init?.body)
        return new Response(`{"ok":true,"content":[{"type":"text","text":${text}}],"structured":${list}}`)
      },
    }
    const binding = transport === 'RPC' ? overRpc : overFetch
    const [echo] = await serviceSource({ bindings: { TOOL_ECHO: binding }, offered: () => true }).find(['echo'])
    const outcome = await call(echo, parseShallow(list) as Record<string, unknown>)
    expect(changesIn(got, numbers)).toEqual([[]])
    expect(changesIn(outcome, numbers)).toEqual([[], []])
  }
})
