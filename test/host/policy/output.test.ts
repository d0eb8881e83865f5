import { describe, expect, test } from 'vitest'
import { guardTool } from '../../../src/contract/guard.ts'
import type { Tool, ToolOutcome } from '../../../src/contract/tool.ts'
import { definitionsWorker } from '../../fixtures/definitions.ts'
import { outputCheck, type OutputCheckOptions } from '../../../src/host/policy/rules.ts'
import { tool } from '../../fixtures/play.ts'
import { controlledEdge } from '../../security/controlled-edge.ts'
import { scripted } from '../../fixtures/scripted.ts'
import { call, toolRequest } from '../source/calls.ts'

const outputSchema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }
const wrong: ToolOutcome = { ok: true, content: [{ type: 'text', text: '{"total":"5"}' }], structured: { total: '5' } }
const INVALID = {
  code: 'invalid_output',
  message:
    'The tool "invoice" was called, but its result does not fit its output schema:\n' +
    '- total: expected number, received "5"\n' +
    'The call may have taken effect: do not repeat it for a better result.',
}

describe('a result that does not fit', () => {
  const KEY = 'acme: chat tools:read'
  const invoice = tool('invoice', () => wrong, { outputSchema })
  const answerOf = async (binding: string, vars: Record<string, unknown> = {}) => {
    const edge = controlledEdge({
      model: scripted([], 'test/scripted'),
      workers: { [binding]: [invoice] },
      keys: [KEY],
      vars,
    })
    return (await edge.as(KEY)('/tools/invoice/call', { json: { arguments: {} } })).body
  }

  test('fails the call of a bound Worker, by default', async () => {
    expect(await answerOf('TOOL_BANK')).toMatchObject({ ok: false, error: INVALID })
  })

  test('is passed on for the tools of others, unless CHECK_OUTPUTS names their binding', async () => {
    const foreign = { HOLD_CHANGED: 'TOOL_OTHERS' }
    expect(await answerOf('TOOL_OTHERS', foreign)).toMatchObject({ ok: true, structured: { total: '5' } })
    expect(await answerOf('TOOL_OTHERS', { ...foreign, CHECK_OUTPUTS: 'TOOL_*' })).toMatchObject({ error: INVALID })
  })

  test('is passed on everywhere with CHECK_OUTPUTS=off', async () => {
    expect(await answerOf('TOOL_BANK', { CHECK_OUTPUTS: 'off' })).toMatchObject({ ok: true })
  })
})

describe('the check of results', () => {
  const reports: unknown[] = []
  const check = (definitions: OutputCheckOptions['definitions'] = definitionsWorker()) =>
    outputCheck({ definitions, isChecked: () => true, report: (entry) => void reports.push(entry) })
  const bind = (tool: Tool, guard = check()) => guardTool(tool, [guard(tool)])

  test('leaves a tool as it is that has no output schema or is checked where it runs', () => {
    const plain = tool('a', () => '')
    const checked = { ...tool('b', () => '', { outputSchema }), checksOutput: true }
    expect([plain, checked].map((each) => bind(each))).toEqual([plain, checked])
    expect(bind(plain)).toBe(plain)
  })

  test('does nothing by a schema that cannot be used', async () => {
    const odd = { $ref: 'https://example.com/schema.json' }
    expect(await call(bind(tool('invoice', () => wrong, { outputSchema: odd })))).toEqual(wrong)
  })

  test('passes a result on and reports it when the checker fails', async () => {
    const failing = check({ checkOutcome: () => Promise.reject(new Error('Network connection lost.')) })
    expect(
      await call(
        bind(
          tool('invoice', () => wrong, { outputSchema }),
          failing,
        ),
      ),
    ).toEqual(wrong)
    const detail = 'Network connection lost.'
    expect(reports).toMatchObject([{ event: 'output.not_checked', tool: 'invoice', detail }])
  })

  test('is made of reported outcomes, which no Worker has checked', async () => {
    const checked = { ...tool('invoice', () => '', { outputSchema, later: true }), checksOutput: true }
    expect(await bind(checked).receive?.(wrong)).toMatchObject({ ok: false, error: { code: 'invalid_output' } })
  })

  test('makes a misfit that `status` finds an effect without an outcome', async () => {
    const source = { ...tool('invoice', () => wrong, { outputSchema }), status: async () => wrong }
    expect(await bind(source).status?.(toolRequest('invoice'))).toBe('done')
  })
})
