import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ToolSource } from '../../src/contract/tool.ts'
import { scheduleToolSource } from '../../src/triggers/tools.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say } from '../fixtures/play.ts'
import { SchedulesWorld } from './schedules-world.ts'
import { settle } from '../fixtures/settle.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const DAILY = { name: 'report', task: 'Write the report.', cron: '0 8 * * 1-5', timeZone: 'Europe/Berlin' }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(() => void vi.useRealTimers())

/** An edge whose model calls one tool with these arguments, and what a run in a conversation comes to. */
async function runWith(name: string, args: object, scopes = ['chat', 'approve', 'schedules']) {
  const script = [ask([name, args]), say('Done.'), say('The report.'), say('The report.')]
  const vars = withKeys(apiKey('owner', { id: 'owner', scopes }))
  let source: ToolSource | undefined
  const tools = () => (source ??= scheduleToolSource(() => world.edge.setup))
  const world: SchedulesWorld = new SchedulesWorld({ script, vars, setup: { tools } })
  const headers = bearer('owner')
  const request = (path: string, json: unknown) => world.ask(path, { method: 'POST', headers, json })
  await request('/conversations', { id: 'chat' })
  const run = (await request('/conversations/chat/runs', { input: 'Every weekday at 8.', tools: [name] })).body
  const approve = async () => {
    const path = `/conversations/chat/runs/${run.id}`
    await request(`${path}/calls/${run.calls[0].id}`, { decision: 'approve' })
    await settle()
    return (await world.ask(path, { headers })).body.calls[0]
  }
  return { world, headers, run, approve }
}

test('a model makes a schedule once a person has approved it, and the task is given as the same key', async () => {
  const { world, headers, run, approve } = await runWith('setSchedule', { ...DAILY, here: true })
  expect(run).toMatchObject({
    status: 'waiting',
    calls: [{ tool: 'setSchedule', status: 'approval', arguments: DAILY }],
  })
  expect((await world.ask('/schedules', { headers })).body).toEqual([])
  expect((await approve()).structured).toEqual({
    name: 'report',
    cron: '0 8 * * 1-5',
    timeZone: 'Europe/Berlin',
    next: '2026-01-01T07:00:00.000Z',
  })
  await world.passUntil(START + 8 * 3_600_000)
  const { body } = await world.ask('/schedules/report', { headers })
  expect(body).toMatchObject({
    conversation: 'chat',
    identity: { key: 'owner', scopes: ['chat', 'approve', 'schedules'] },
    last: { outcome: 'started', conversation: 'chat' },
  })
  const messages = (await world.ask('/conversations/chat/messages', { headers })).body
  expect(messages.slice(-2).map(({ message }: any) => message.content)).toEqual(['Write the report.', 'The report.'])
})

test.each<[object, string, RegExp]>([
  [{ name: 'x', task: 'Go.' }, 'invalid_arguments', /exactly one of/],
  [{ ...DAILY, at: '2027-01-01T00:00:00Z' }, 'invalid_arguments', /exactly one of/],
  [{ ...DAILY, paused: true }, 'invalid_arguments', /Leave out "paused"/],
  [{ ...DAILY, keepDays: 1 }, 'invalid_arguments', /Leave out "keepDays"/],
  [{ ...DAILY, name: 'a b' }, 'invalid_arguments', /^name: /],
  [{ ...DAILY, name: 7 }, 'invalid_arguments', /^name: /],
  [{ ...DAILY, task: '' }, 'invalid_arguments', /^task: /],
  [{ ...DAILY, task: 'x'.repeat(8001) }, 'invalid_arguments', /8000/],
  [{ ...DAILY, here: 'yes' }, 'invalid_arguments', /^here: /],
  [{ ...DAILY, cron: 8 }, 'invalid_arguments', /cron/],
  [{ ...DAILY, cron: `0 8 * * ${'1,'.repeat(300)}1` }, 'invalid_arguments', /512/],
  [{ ...DAILY, cron: '0 25 * * *' }, 'invalid_request', /25/],
  [{ ...DAILY, timeZone: 'Berlin' }, 'invalid_request', /IANA/],
  [{ name: 'x', task: 'Go.', everySeconds: 1 }, 'invalid_arguments', /60/],
  [{ name: 'x', task: 'Go.', at: '2025-01-01T00:00:00Z' }, 'time_passed', /still to come/],
])('a model is told what to change in %j, before a person is asked', async (args, code, message) => {
  const { run } = await runWith('setSchedule', args)
  expect(run).toMatchObject({
    status: 'completed',
    calls: [{ ok: false, error: { code, message: expect.stringMatching(message) } }],
  })
})

test('nobody is asked about a schedule or its removal for a key without the scope', async () => {
  for (const [name, args] of [
    ['setSchedule', DAILY],
    ['removeSchedule', { name: 'report' }],
  ] as const) {
    const { run } = await runWith(name, args, ['chat', 'approve'])
    expect(run.calls).toMatchObject([{ ok: false, error: { code: 'tool_not_allowed' } }])
  }
})

test('a model does not replace or remove the schedule of a key that has a scope which its own key lacks', async () => {
  for (const [name, args] of [
    ['setSchedule', DAILY],
    ['removeSchedule', { name: 'report' }],
  ] as const) {
    const { world, headers, run, approve } = await runWith(name, args)
    const body = { cron: '0 1 * * *', run: { input: 'Pay.' } }
    const caller = { tenant: 'local', key: 'payer', scopes: ['chat', 'schedules', 'finance'] }
    await world.object.put('report', body, caller)
    const call = run.status === 'waiting' ? await approve() : undefined
    expect(call ?? run.calls[0]).toMatchObject({ ok: false })
    expect((await world.ask('/schedules/report', { headers })).body).toMatchObject({ cron: '0 1 * * *' })
  }
})

test('a model lists and removes schedules, only those of its tenant and with the scope', async () => {
  const lists = await runWith('listSchedules', {})
  expect(lists.run.calls).toMatchObject([{ ok: true, structured: { schedules: [] } }])
  const removes = await runWith('removeSchedule', { name: 'none' })
  expect(removes.run.calls).toMatchObject([{ ok: false, error: { code: 'unknown_schedule' } }])
  const withoutScope = await runWith('listSchedules', {}, ['chat'])
  expect(withoutScope.run.calls).toMatchObject([{ ok: false, error: { code: 'tool_not_allowed' } }])
})
