import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import { isAllowed, policiesOf, readPolicies, tighten } from '../../../src/host/policy/policies.ts'
import { tool } from '../../fixtures/play.ts'

/** Which approval a definition demands, and whether a decision model may give it. */
const rulesOf = ({ approval, modelMayApprove }: ToolDefinition) => [approval, modelMayApprove]

const { definition } = tool('sendMail', undefined, { tags: ['out'], annotations: { openWorld: true } })

describe('policies of a deployment', () => {
  test('are read completely', () => {
    const policies = {
      sendMail: {
        scopes: ['mail'],
        tenants: ['acme'],
        rate: 'RATE_MAIL',
        concurrency: 2,
        timeoutMs: 500,
        maxResultBytes: 100,
        approval: { unless: { '/to': { like: ['*@acme.com'] } } },
        hosts: ['api.acme.com'],
        annotations: { untrusted: true, private: true, idempotent: false },
      },
    }
    expect(readPolicies({ TOOL_POLICY: policies })).toEqual(policies)
    expect(readPolicies({ TOOL_POLICY: JSON.stringify(policies) })).toEqual(policies)
    expect(readPolicies({})).toEqual({})
  })

  test.each<[string, unknown, string]>([
    ['no JSON', '{', ''],
    ['a list', [], '; at : expected an object'],
    ['an unknown word', { a: { scope: ['x'] } }, '; at a.scope: '],
    ['a count of none', { a: { concurrency: 0 } }, '; at a.concurrency: must be a whole number from 1.'],
    ['an approval', { a: { approval: 'sometimes' } }, '; at a.approval: must be "never", "always", "decide" or'],
    ['a pointer', { a: { approval: { unless: { to: {} } } } }, '; at a.approval.unless.to: '],
    [
      'a pointer to nothing',
      { a: { approval: { unless: { constructor: {} } } } },
      '; at a.approval.unless.constructor: ',
    ],
    ['a word for __proto__', '{"__proto__":{"scope":["x"]}}', '; at __proto__.scope: '],
  ])('are refused with the place of the mistake: %s', (_, value, where) => {
    const message = `TOOL_POLICY must be a JSON object of policies${where}`
    expect(() => readPolicies({ TOOL_POLICY: value })).toThrow(message)
  })

  test.each(['constructor', 'prototype', '__proto__'])('apply whatever name is used: %s', (name) => {
    const policies = readPolicies({ TOOL_POLICY: `{"a":{},"${name}":{"scopes":["x"]}}` })
    expect(Object.entries(policies)).toEqual([
      ['a', {}],
      [name, { scopes: ['x'] }],
    ])
    expect(policiesOf(policies, { definition: { name }, place: 'edge' })).toEqual([{ scopes: ['x'] }])
    expect(Object.getPrototypeOf(policies)).toBe(Object.prototype)
  })

  test('name tools by their names, tags and places, with globs', () => {
    const of = (...keys: string[]) => {
      const policies = Object.fromEntries(keys.map((key) => [key, { rate: key }]))
      return policiesOf(policies, { definition, place: 'TOOL_MAIL' }).map(({ rate }) => rate)
    }
    expect(of('sendMail', '#out', '@TOOL_MAIL')).toEqual(['sendMail', '#out', '@TOOL_MAIL'])
    expect(of('send*', '*', '#*', '@TOOL_*')).toEqual(['send*', '*', '#*', '@TOOL_*'])
    expect(of('out', 'TOOL_MAIL', '#sendMail', '@sendMail', 'sendmail')).toEqual([])
  })

  test('name a tool by its own name and that on its server, by which annotations only become stricter', () => {
    const annotations = { readOnly: true, untrusted: true }
    const of = (name: string, tool: { name: string; ownName?: string }, place = 'TOOL_MCP') =>
      policiesOf({ [name]: { annotations } }, { definition: tool, place })
    expect(of('files.delete', { name: 'files_x2e_delete' })).toEqual([{ annotations }])
    expect(of('files.*', { name: 'acme_x', ownName: 'files.delete' })).toEqual([{ annotations: { untrusted: true } }])
    expect(of('files.delete', { name: 'files_x2e_delete' }, 'tenant:acme/files_x2e_delete')).toEqual([])
    for (const place of ['tenant:acme/files_x2e_delete', 'tool:files_x2e_delete'])
      expect(of(`@${place.replace('_x2e_', '.')}`, { name: 'files_x2e_delete' }, place)).toEqual([{ annotations }])
  })

  test('admit a caller with all the scopes and one of the tenants that they name', () => {
    const caller = { tenant: 'acme', scopes: ['chat', 'mail'] }
    expect(isAllowed([], caller)).toBe(true)
    expect(isAllowed([{ scopes: ['mail'] }, { tenants: ['acme', 'other'] }], caller)).toBe(true)
    expect(isAllowed([{ scopes: ['mail'] }, { scopes: ['admin'] }], caller)).toBe(false)
    expect(isAllowed([{ scopes: ['mail', 'admin'] }], caller)).toBe(false)
    expect(isAllowed([{ tenants: [] }], caller)).toBe(false)
  })
})

describe('a definition under its policies', () => {
  const of = (own: Partial<ToolDefinition>, ...policies: Parameters<typeof tighten>[1][number][]) =>
    tighten({ ...definition, ...own }, policies)

  test('keeps the strictest value of each limit, including its own', () => {
    expect(of({})).toEqual(definition)
    expect(of({ timeoutMs: 900 }, { timeoutMs: 500, concurrency: 4 }, { timeoutMs: 700, concurrency: 2 })).toEqual({
      ...definition,
      timeoutMs: 500,
      maxConcurrent: 2,
    })
    expect(of({ timeoutMs: 100, maxResultBytes: 5 }, { timeoutMs: 500 })).toMatchObject({
      timeoutMs: 100,
      maxResultBytes: 5,
    })
  })

  test('takes the annotations of the last policy that has them', () => {
    const policy = of(
      {},
      { annotations: { idempotent: true, openWorld: false } },
      { annotations: { idempotent: false } },
    )
    expect(policy.annotations).toEqual({ openWorld: false, idempotent: false })
  })

  test('needs the approvals that all of them demand', () => {
    const to = { unless: { '/to': { like: ['*@acme.com'] } } }
    const amount = { unless: { '/amount': { maximum: 9 } } }
    expect(of({}, { approval: to }).approval).toEqual(to)
    expect(of({ approval: 'always' }, { approval: 'never' }).approval).toBe('always')
    expect(rulesOf(of({}, { approval: 'decide' }))).toEqual(['always', true])
    expect(rulesOf(of({ approval: 'never' }, { approval: 'decide' }, { approval: 'decide' }))).toEqual(['always', true])
    // Whatever else demands an approval leaves it to a person.
    expect(rulesOf(of({ approval: 'always' }, { approval: 'decide' }))).toEqual(['always', undefined])
    expect(rulesOf(of({}, { approval: 'decide' }, { approval: 'always' }))).toEqual(['always', undefined])
    expect(rulesOf(of({ approval: to }, { approval: 'decide' }))).toEqual(['always', undefined])
    expect(rulesOf(of({}, { approval: 'decide' }, { approval: to }))).toEqual(['always', undefined])
    expect(of({ approval: to }, { approval: amount }).approval).toEqual({ unless: { ...to.unless, ...amount.unless } })
    expect(of({ approval: amount }, { approval: { unless: { '/amount': { minimum: 0 } } } }).approval).toEqual({
      unless: { '/amount': { minimum: 0, maximum: 9 } },
    })
    expect(of({ approval: amount }, { approval: { unless: { '/amount': { maximum: 90 } } } }).approval).toBe('always')
  })
})
