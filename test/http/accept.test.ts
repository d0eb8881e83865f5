import { expect, test } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'

test('a request cannot raise the limit of a tool above the edge’s, whatever the tool’s name', async () => {
  const edge = testEdge({
    vars: { MAX_CALLS_PER_TOOL: '{"*":1,"other":5}' },
    script: [ask(['toString'], ['toString']), say('done')],
    tools: [tool('toString')],
  })
  const json = { input: 'Hi', onLimit: 'model', limits: { tools: { toString: 9 } } }
  const record = (await (await edge.ask('/runs', { json })).json()) as { calls: { ok: boolean }[] }
  expect(record.calls.map(({ ok }) => ok)).toEqual([true, false])
})

test('tool_choice may name a client tool that a hook added', async () => {
  const pick = { name: 'pick', description: 'Picks', inputSchema: { type: 'object' } }
  const hook: Hook = { name: 'picks', accept: (run) => ({ ...run, clientTools: [pick] }) }
  const edge = testEdge({ script: [ask(['pick'])], setup: { loop: { hooks: [hook] } } })
  const run = await edge.ask('/runs', { json: { input: 'Hi', toolChoice: { tool: 'pick' } } })
  expect([run.status, await run.json()]).toMatchObject([200, { finish: 'tool_calls' }])
})

test('a hook can change which tools are offered', async () => {
  const hook: Hook = { name: 'narrows', accept: (run) => ({ ...run, selection: ['clock'] }) }
  const tools = [tool('clock'), tool('danger')]
  const edge = testEdge({ script: [say('ok')], tools, setup: { loop: { hooks: [hook] } } })
  await edge.ask('/runs', { json: { input: 'Hi' } })
  expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(['clock'])
})

test('a hook can set what a request leaves out, and only that', async () => {
  const format = { type: 'json_object' } as const
  const options = { test: { seed: 1 } }
  const hook: Hook = {
    name: 'defaults',
    accept: (run) => ({ responseFormat: format, providerOptions: options, trusted: { plan: 'free' }, ...run }),
  }
  const plan = tool('plan', (_args, { trusted }) => String(trusted?.['plan']))
  const script = [ask(['plan']), say('{}'), ask(['plan']), say('1')]
  const edge = testEdge({ script, tools: [plan], setup: { loop: { hooks: [hook] } } })
  await edge.ask('/runs', { json: { input: 'Hi' } })
  await edge.ask('/runs', { json: { input: 'Hi', responseFormat: { type: 'text' } } })
  const result = { role: 'tool', content: [{ type: 'text', text: 'free' }] }
  expect(edge.requests).toMatchObject([
    { responseFormat: format, providerOptions: options },
    { responseFormat: format, providerOptions: options, messages: [{}, {}, result] },
    { responseFormat: { type: 'text' }, providerOptions: options },
    { responseFormat: { type: 'text' }, providerOptions: options, messages: [{}, {}, result] },
  ])
})
