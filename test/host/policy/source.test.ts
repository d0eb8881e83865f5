import { describe, expect, test } from 'vitest'
import { secretFilter } from '../../../src/contract/secrets.ts'
import {
  type CallStatus,
  failure,
  type ListPage,
  type Tool,
  type ToolContext,
  type ToolSource,
  type ToolSuccess,
} from '../../../src/contract/tool.ts'
import { createBreaker } from '../../../src/host/breaker.ts'
import { outputCheck } from '../../../src/host/policy/rules.ts'
import { applyPolicies, type PolicyOptions } from '../../../src/host/policy/source.ts'
import { tool } from '../../fixtures/play.ts'
import { CONTROL, toolRequest } from '../source/calls.ts'

const all = ['a', 'b', 'pay'].map((name) => tool(name))
const page: ListPage = { after: '', limit: 2 }

/** A source that has pages, and the pages that it was asked for. */
function paged(tools: readonly Tool[]) {
  const requests: (ListPage | undefined)[] = []
  const source: ToolSource = {
    find: async () => [],
    offered: async () => [],
    list: async (page) => {
      requests.push(page)
      return { tools: tools.slice(0, page?.limit), unavailable: [], ...(page && { total: tools.length }) }
    },
  }
  return { requests, source }
}

const policies = { pay: { scopes: ['finance'] }, 'a*': { timeoutMs: 10 } }

test('for a caller that may see all tools, a page of a source reads only that page', async () => {
  const { requests, source } = paged(all)
  const listing = await applyPolicies(source, { policies, rates: {} })({ tenant: 't', scopes: ['finance'] }).list(page)
  expect(listing.tools.map(({ definition }) => [definition.name, definition.timeoutMs])).toEqual([
    ['a', 10],
    ['b', undefined],
  ])
  expect([listing.total, requests]).toEqual([3, [page]])
})

test('for other callers, hidden tools are on no page and are not counted', async () => {
  const { requests, source } = paged(all)
  const listing = await applyPolicies(source, { policies, rates: {} })({ tenant: 't', scopes: [] }).list(page)
  expect(listing.tools.map(({ definition }) => definition.name)).toEqual(['a', 'b'])
  expect([listing.total, requests]).toEqual([undefined, [undefined]])
})

/** Calls the one tool of a source under policies, and returns the outcome. */
async function callUnder(options: Parameters<typeof applyPolicies>[1], only: Tool, context: Partial<ToolContext> = {}) {
  const caller = { tenant: 't', scopes: [] }
  const source: ToolSource = { ...paged([]).source, find: async () => [only] }
  const [matches] = await applyPolicies(source, options)(caller).find(['pay'])
  return matches?.call(toolRequest('pay', {}, { hash: 'hash-pay', caller, ...context }), CONTROL)
}

test('a call is refused if the binding of its rate is missing', async () => {
  const limited = { policies: { pay: { rate: 'RATE_PAY' } } }
  const limit = async () => ({ success: true })
  expect(await callUnder({ ...limited, rates: { RATE_PAY: { limit } } }, tool('pay'))).toMatchObject({ ok: true })
  expect(await callUnder({ ...limited, rates: {} }, tool('pay'))).toMatchObject({ error: { code: 'rate_limited' } })
})

test('the policies of the edge go with the calls of a tool that calls further tools', async () => {
  const received: unknown[] = []
  const keep = (_: unknown, context: ToolContext) => void received.push(context.policies)
  const earlier = { 'a*': { timeoutMs: 5 }, mail: { scopes: ['mail'] } }
  await callUnder({ policies, rates: {} }, tool('b', keep, { callsTools: true }), { policies: earlier })
  await callUnder({ policies, rates: {} }, tool('b', keep), { policies: earlier })
  expect(received).toEqual([{ ...policies, ...earlier }, earlier])
})

const SECRET = 'value-of-a-secret-of-the-edge'
const words = (text: string): ToolSuccess => ({ ok: true, content: [{ type: 'text', text }] })

/** Everything that is done with a tool, by the guards that stand before it. */
const OPERATIONS: Readonly<Record<string, (tool: Tool, outcome: ToolSuccess) => Promise<CallStatus> | undefined>> = {
  call: (tool) => tool.call(toolRequest('pay'), CONTROL),
  status: (tool) => tool.status?.(toolRequest('pay')),
  undo: (tool, outcome) => tool.undo?.(toolRequest('pay'), outcome),
  poll: (tool) => tool.poll?.(toolRequest('pay')),
  receive: (tool, outcome) => tool.receive?.(outcome),
}

/** A tool that answers everything so, behind the guards of these rules. */
async function guardedTool(answer: () => Promise<ToolSuccess>, rules: Partial<PolicyOptions>, own: Partial<Tool> = {}) {
  const terms = { callsTools: true, reconcile: true, undo: true, later: true }
  const pay: Tool = {
    ...tool('pay', answer, { ...terms, outputSchema: { type: 'object' } }),
    ...{ status: answer, undo: answer, poll: answer, receive: answer, ...own },
  }
  const source: ToolSource = { ...paged([]).source, find: async () => [pay] }
  const options = { policies: {}, rates: {}, ...rules }
  const [subject] = await applyPolicies(source, options)({ tenant: 't', scopes: [] }).find(['pay'])
  if (!subject) throw new Error('The tool is not found.')
  return subject
}

describe.each(Object.entries(OPERATIONS))('the guards of a tool, at its %s', (name, perform) => {
  test('remove secrets from the answer and from an error', async () => {
    const secrets = secretFilter([SECRET])
    const answering = await guardedTool(async () => words(`It is ${SECRET}.`), { secrets })
    expect(await perform(answering, words(SECRET))).toEqual(words('It is [redacted].'))
    const failing = await guardedTool(() => Promise.reject(new Error(`no ${SECRET}`)), { secrets })
    await expect(perform(failing, words(''))).rejects.toThrow('no [redacted]')
  })

  test('check a result, of which an undo has none, and remove secrets from what the check says', async () => {
    const definitions = { checkOutcome: async () => failure('invalid_output', `received ${SECRET}`) }
    const outputs = outputCheck({ definitions, isChecked: () => true, report: () => {} })
    const subject = await guardedTool(async () => words('paid'), { secrets: secretFilter([SECRET]), outputs })
    const answer = await perform(subject, words('paid'))
    const answers = { undo: words('paid'), status: 'done' }
    expect(answer).toEqual(Reflect.get(answers, name) ?? failure('invalid_output', 'received [redacted]'))
  })

  test('send the policies with every request', async () => {
    const edgePolicies = { pay: { timeoutMs: 10 } }
    const received: unknown[] = []
    const keep = async (request: unknown) => {
      if (typeof request === 'object' && request && 'context' in request) received.push(request.context)
      return words('paid')
    }
    const subject = await guardedTool(
      async () => words('paid'),
      { policies: edgePolicies },
      { call: keep, status: keep, undo: keep, poll: keep, receive: keep },
    )
    await perform(subject, words('paid'))
    expect(received).toMatchObject(name === 'receive' ? [] : [{ policies: edgePolicies }])
  })
})

test('a paused tool uses up no rate', async () => {
  const limited: string[] = []
  const limit = async ({ key }: { key: string }) => ({ success: limited.push(key) > 0 })
  const breaker = createBreaker({ failures: 1, pauseMs: 1000, now: () => 0 })
  const rules = { policies: { pay: { rate: 'RATE_PAY' } }, rates: { RATE_PAY: { limit } }, breaker }
  const subject = await guardedTool(() => Promise.reject(new Error('Network connection lost.')), rules)
  await subject.call(toolRequest('pay'), CONTROL).catch(() => {})
  expect(await subject.call(toolRequest('pay'), CONTROL)).toMatchObject({ error: { code: 'tool_paused' } })
  expect(limited).toHaveLength(1)
})
