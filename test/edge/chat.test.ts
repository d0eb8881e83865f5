import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEvents, type Stage, startStage } from './stage.ts'

let stage: Stage

beforeAll(async () => {
  stage = await startStage({ AUTH: 'open', MODEL: 'offline/rules' })
})
afterAll(() => stage.close())

describe('smoke', () => {
  test('lists tools', async () => {
    const r = await stage.ask('/tools')
    console.log(r.status, (await r.text()).slice(0, 1500))
    const s = await stage.ask('/runs', { json: { input: 'What time is it in Tokyo?' }, headers: { accept: 'text/event-stream' } })
    console.log(s.status, await s.text())
    const t = await stage.ask('/v1/chat/completions', { json: { messages: [{ role: 'user', content: 'What is the square root of 475695037565?' }] } })
    console.log(t.status, await t.text())
    const u = await stage.ask('/v1/chat/completions', { headers: { 'x-conversation-id': 'c1' }, json: { stream: true, messages: [{ role: 'user', content: 'Will it rain in Copenhagen tomorrow?' }] } })
    console.log(u.status, await u.text())
    console.log(await (await stage.ask('/conversations/c1/messages')).text())
    console.log(await (await stage.ask('/conversations/c1/runs')).text())
    console.log(await (await stage.ask('/conversations')).text())
    void readEvents
    expect(1).toBe(1)
  })
})
