import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ScriptedStage, startScripted } from './scripted-stage.ts'

let stage: ScriptedStage
beforeAll(async () => void (stage = await startScripted()))
afterAll(() => stage?.close())

type Mode = 'legacy' | 'auto' | { pin: string }

async function connected(mode: Mode, key = stage.key): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', stage.url), { requestInit }))
  return client
}

describe.each<[string, Mode]>([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', 'auto'],
  ['2026-07-28', { pin: '2026-07-28' }],
])('the client of the MCP SDK %s, negotiating %j,', (revision, mode) => {
  test('lists the tools that it may call, and calls one', async () => {
    const client = await connected(mode)
    expect([client.getNegotiatedProtocolVersion(), client.getServerVersion()]).toEqual([
      revision,
      { name: 'edgecall', version: '0.1.0' },
    ])
    const names = (await client.listTools()).tools.map(({ name }) => name)
    // The one that takes a person is not for it.
    expect([names.includes('squareRoot'), names.includes('pays')]).toEqual([true, false])
    const { content, structuredContent, isError } = await client.callTool({
      name: 'squareRoot',
      arguments: { number: 16 },
    })
    const value = { value: 4 }
    expect({ content, structuredContent, isError }).toEqual({
      content: [{ type: 'text', text: JSON.stringify(value) }],
      structuredContent: value,
      isError: undefined,
    })
    await client.close()
  })

  test('receives progress and errors', async () => {
    const client = await connected(mode)
    const progress: unknown[] = []
    const arrived = await client.callTool({ name: 'progresses' }, { onprogress: (news) => progress.push(news) })
    expect([arrived.content, progress]).toEqual([
      [{ type: 'text', text: 'arrived' }],
      [{ progress: 0.5, total: 1, message: 'half way' }],
    ])
    const misfit = await client.callTool({ name: 'squareRoot', arguments: { number: 'x' } })
    expect([misfit.isError, misfit.content]).toMatchObject([true, [{ text: expect.stringContaining('do not fit') }]])
    const refusal = await client.callTool({ name: 'pays' })
    expect([refusal.isError, refusal.content]).toMatchObject([true, [{ text: expect.stringContaining('person') }]])
    await expect(client.callTool({ name: 'nothing' })).rejects.toMatchObject({ code: -32602 })
    await client.close()
  })

  test('may disconnect in the middle of a call', async () => {
    const client = await connected(mode)
    const leave = new AbortController()
    const cancelledCall = client.callTool({ name: 'hangs' }, { signal: leave.signal, onprogress: () => {} })
    leave.abort(new Error('left'))
    await expect(cancelledCall).rejects.toThrow('left')
    expect((await client.callTool({ name: 'progresses' })).content).toEqual([{ type: 'text', text: 'arrived' }])
    await client.close()
  })

  test('is refused without a key', async () => {
    await expect(connected(mode, 'ek_of_nobody')).rejects.toThrow(/valid key|HTTP 401/)
  })
})
