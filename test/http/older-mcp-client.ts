import { expect } from 'vitest'
import type { Tool } from '../../src/contract/tool.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { keptEdge } from './kept-edge.ts'

const PERSON = ['chat', 'tools:read', 'approve']

/** An edge with these tools, and clients of the revision 2025-11-25 with keys of two tenants. */
export function edgeWith(tools: readonly Tool[], vars: Record<string, unknown> = {}) {
  const keys = [
    apiKey('person', { scopes: PERSON }),
    apiKey('colleague', { scopes: PERSON }),
    apiKey('program', { scopes: ['chat', 'tools:read'] }),
    apiKey('stranger', { tenant: 'other', scopes: PERSON }),
  ]
  const edge = keptEdge({ script: [], tools, listsRuns: true, vars: { ...withKeys(...keys), ...vars } })
  const post = (json: object, key: string, headers: Record<string, string> = {}) =>
    edge.post('/mcp', json, { accept: 'application/json, text/event-stream', ...bearer(key), ...headers })
  const connect = async (capabilities: object, key = 'person') => {
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } }
    const response = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, key)
    const session = response.headers.get('mcp-session-id')
    const headers = { 'mcp-protocol-version': '2025-11-25', ...(session !== null && { 'mcp-session-id': session }) }
    const send = (json: object) => post({ jsonrpc: '2.0', ...json }, key, headers)
    const start = async (name: string, args: object = {}, id = 1, meta = {}) =>
      messagesOf(await send({ id, method: 'tools/call', params: { name, arguments: args, _meta: meta } }))
    /** Calls a tool as a client that is asked nothing does. */
    const call = async (name: string, args: object = {}) => (await start(name, args)).next()
    /** Continues a stream that was lost. */
    const goOn = (lastId: string) =>
      edge.fetch('/mcp', {
        headers: { accept: 'text/event-stream', ...bearer(key), ...headers, 'last-event-id': lastId },
      })
    return { session, send, start, call, goOn }
  }
  /** The calls that wait for a person, once there are so many: lists are told of them a moment later. */
  const approvals = (key = 'person', count = 1): Promise<Record<string, any>[]> =>
    eventually(async () => {
      const response = await edge.fetch('/approvals', { headers: bearer(key) })
      const list = (await response.json()) as Record<string, any>[]
      expect(list.length).toBe(count)
      return list
    })
  const decide = ({ conversation, run, id }: Record<string, any>, decision: object, key = 'person') =>
    edge.post(`/conversations/${conversation}/runs/${run}/calls/${id}`, decision, bearer(key))
  return { edge, connect, approvals, decide }
}

/** The messages of a response, one by one; comments and events without data are left out. */
interface Messages {
  next(): Promise<any>
  leave(): Promise<void>
  /** The id of the last event so far; '' if there was none. */
  lastId(): string
}

export function messagesOf(response: Response): Messages {
  if (response.headers.get('content-type')?.includes('json')) {
    return { next: () => response.json(), leave: async () => {}, lastId: () => '' }
  }
  let lastId = ''
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let buffer = ''
  return {
    next: async () => {
      for (;;) {
        const end = buffer.indexOf('\n\n')
        const frame = buffer.slice(0, Math.max(end, 0))
        buffer = end < 0 ? buffer : buffer.slice(end + 2)
        const [, id = lastId] = /^id: (.*)$/m.exec(frame) ?? []
        const [, data] = /^data: (.*)$/m.exec(frame) ?? []
        lastId = id
        if (data !== undefined) return JSON.parse(data) as unknown
        if (end >= 0) continue
        const { value, done } = await reader.read()
        if (done) return undefined
        buffer += value
      }
    },
    leave: () => reader.cancel(),
    lastId: () => lastId,
  }
}
