import { describe, expect, test, vi } from 'vitest'
import { failure, type ToolOutcome } from '../../src/contract/tool.ts'
import { bearer } from '../fixtures/keys.ts'
import { eventually } from '../fixtures/eventually.ts'
import { tool } from '../fixtures/play.ts'
import { edgeWith } from '../http/older-mcp-client.ts'

/** Who may answer what a person is asked in a session of `/mcp`, and what an answer counts for. */

const FORMS = { elicitation: {} }
const ACCEPT = { result: { action: 'accept', content: {} } }
const sure = { method: 'elicitation/create', params: { message: 'Sure?' } }

/** Two tools that need approval, of which one also asks a question of its own. */
function bank() {
  const payments: string[] = []
  const pay = tool('pay', ({ n }) => void payments.push(`pay ${String(n)}`), { approval: 'always' })
  const needs: ToolOutcome = { ...failure('input_required', 'It asks.'), input: { requests: { approval: sure } } }
  const ask = tool('ask', (_args, { input }) => (input ? void payments.push('ask') : needs), { approval: 'always' })
  return { payments, ...edgeWith([pay, ask]) }
}

/** Changes a character in the middle of the payload or of the signature of a question's id. */
function changed(id: string, part: 0 | 1): string {
  const parts = id.split('.')
  const text = parts[part] ?? ''
  const at = Math.floor(text.length / 2)
  return Object.assign([...parts], {
    [part]: `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`,
  }).join('.')
}

describe('an answer in a session', () => {
  test.each<[string, number, (at: ReturnType<typeof bank>, id: string) => Promise<Response>]>([
    [
      'of another session of the same key',
      400,
      async ({ connect }, id) => (await connect(FORMS)).send({ id, ...ACCEPT }),
    ],
    ['without a session', 400, async ({ connect }, id) => (await connect({})).send({ id, ...ACCEPT })],
    [
      'of another key of the tenant',
      400,
      async ({ connect }, id) => (await connect(FORMS, 'colleague')).send({ id, ...ACCEPT }),
    ],
    ['of another tenant', 400, async ({ connect }, id) => (await connect(FORMS, 'stranger')).send({ id, ...ACCEPT })],
  ])('%s does not count', async (_, status, forge) => {
    const at = bank()
    const { start, send } = await at.connect(FORMS)
    const stream = await start('pay', { n: 1 })
    const { id } = await stream.next()
    expect((await forge(at, id)).status).toBe(status)
    expect([at.payments, (await at.approvals()).length]).toEqual([[], 1])
    expect((await send({ id, ...ACCEPT })).status).toBe(202)
    await eventually(() => expect(at.payments).toEqual(['pay 1']))
    await stream.leave()
  })

  test('does not count in the session of another key that knows its id, or with an id that was changed', async () => {
    const { edge, connect, payments, approvals } = bank()
    const { start, session, send } = await connect(FORMS)
    const stream = await start('pay', { n: 1 })
    const { id } = await stream.next()
    const replyAs = async (key: string) => {
      const headers = { ...bearer(key), 'mcp-session-id': String(session) }
      return (await edge.post('/mcp', { jsonrpc: '2.0', id, ...ACCEPT }, headers)).status
    }
    expect(await Promise.all(['colleague', 'stranger', 'program'].map(replyAs))).toEqual([400, 400, 400])
    for (const forged of [changed(id, 0), changed(id, 1), 'x', 7, String(id).split('.')[0]])
      expect((await send({ id: forged, ...ACCEPT })).status).toBe(400)
    expect([payments, (await approvals()).length]).toEqual([[], 1])
    await stream.leave()
  })

  test('does not count for a key that has lost the scope approve', async () => {
    const { edge, connect, payments } = bank()
    const { start, send } = await connect(FORMS)
    const stream = await start('pay', { n: 1 })
    const { id } = await stream.next()
    const { apiKeys } = edge.setup.config
    const index = apiKeys.findIndex(({ scopes }) => scopes.includes('approve'))
    Object.assign(apiKeys, { [index]: { ...apiKeys[index], scopes: ['chat', 'tools:read'] } })
    expect((await send({ id, ...ACCEPT })).status).toBe(403)
    expect(payments).toEqual([])
    await stream.leave()
  })

  test('counts for one call: not for the next one with the same arguments', async () => {
    const { connect, payments } = bank()
    const { start, send } = await connect(FORMS)
    const first = await start('pay', { n: 1 }, 1)
    const { id } = await first.next()
    await send({ id, ...ACCEPT })
    await first.next()
    expect(await first.next()).toMatchObject({ id: 1 })
    const second = await start('pay', { n: 1 }, 2)
    expect((await second.next()).id).not.toBe(id)
    expect((await send({ id, ...ACCEPT })).status).toBe(202)
    expect(payments).toEqual(['pay 1'])
    await second.leave()
  })

  test('to the question of a tool approves no call, whatever the tool calls its question', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { connect, payments } = bank()
    const { start, send } = await connect(FORMS)
    const stream = await start('ask')
    const { id: approval } = await stream.next()
    await send({ id: approval, ...ACCEPT })
    await stream.next()
    // It waits again, in the same millisecond.
    const { id: question } = await stream.next()
    await send({ id: approval, ...ACCEPT })
    expect(payments).toEqual([])
    await send({ id: question, ...ACCEPT })
    await eventually(() => expect(payments).toEqual(['ask']))
    const next = await start('ask', {}, 2)
    vi.useRealTimers()
    await next.leave()
    await stream.leave()
  })

  test('is not asked of a key that may not approve, nor with FOUR_EYES', async () => {
    const { connect, edge } = bank()
    const { call } = await connect(FORMS, 'program')
    expect((await call('pay')).result.content[0].text).toContain('Not run yet')
    Object.assign(edge.setup.config, { fourEyes: true })
    expect((await (await connect(FORMS)).call('pay')).result.content[0].text).toContain('Not run yet')
  })
})
