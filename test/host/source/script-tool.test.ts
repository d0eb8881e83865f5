import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import { kvSource } from '../../../src/host/source/kv.ts'
import { mayDispatch, type ScriptNamespace, scriptsOf } from '../../../src/host/worker/script.ts'
import { type Owner, tenantOwner } from '../../../src/contract/catalogue.ts'
import { testCatalogue } from '../../catalogue/object.ts'
import { definitionsWorker } from '../../fixtures/definitions.ts'
import { toolSourceSuite } from '../../suites/tool-source.ts'
import { call, text } from './calls.ts'
import { definition, worker } from './worker.ts'

type TestWorker = ReturnType<typeof worker>

const OBJECT = { type: 'object', properties: { month: { type: 'string' } }, required: ['month'] }

/** A source of stored definitions, and a dispatch namespace whose Workers come and go. */
function setup({ owner = 'edge', isBound = true }: { owner?: Owner; isBound?: boolean } = {}) {
  const workers = new Map<string, TestWorker>()
  const namespace: ScriptNamespace = {
    get: (script) => workers.get(script)?.binding ?? { describe: () => Promise.reject(new Error('Worker not found.')) },
  }
  const { kv, object } = testCatalogue()
  const source = () =>
    kvSource({
      owner,
      namespace: kv,
      catalogue: object,
      definitions: definitionsWorker(),
      worker: () => undefined,
      hosts: {},
      secret: () => '',
      ...(isBound && { scripts: scriptsOf(namespace, { now: Date.now }) }),
    })
  const upload = (script: string, ...tools: readonly ToolDefinition[]) => {
    const uploaded = worker(tools)
    workers.set(script, uploaded)
    return uploaded
  }
  return { source: source(), sourceElsewhere: source, upload, workers }
}

toolSourceSuite('tools of Workers in a dispatch namespace', async () => {
  const { source, upload } = setup()
  upload('acme', definition('first'), definition('second', { undo: true }))
  for (const name of ['first', 'second'])
    await source.put(name, { worker: { script: 'acme' }, default: name === 'first' })
  const example = { arguments: {}, outcome: text('done') }
  return { source, offered: ['first'], others: ['second'], example }
})

describe('a definition that names a Worker in the dispatch namespace', () => {
  test('is stored with what the Worker says of its tool, and needs the Worker for calls alone', async () => {
    const { source, sourceElsewhere, upload } = setup()
    const { traffic } = upload('acme', definition('total', { inputSchema: OBJECT, undo: true, tags: ['money'] }))
    const reply = await source.put('sum', { worker: { script: 'acme', tool: 'total' }, description: 'Sums up.' })
    expect(reply).toMatchObject({ ok: true, status: 'created', breaks: [] })
    expect(traffic.describe).toBe(1)
    const [tool] = await sourceElsewhere().find(['sum'])
    expect(traffic.describe).toBe(1)
    expect(tool?.definition).toEqual({
      ...{ name: 'sum', description: 'Sums up.', inputSchema: OBJECT, undo: true, tags: ['money'], version: '1' },
      hash: reply.ok && reply.hash,
      annotations: { untrusted: true, openWorld: true },
    })
    expect(tool && (await call(tool, { month: 'May' }))).toEqual(text('done'))
    expect(traffic.requests).toMatchObject([{ name: 'total', hash: 'h-total', arguments: { month: 'May' } }])
    expect(tool && (await call(tool, {}))).toMatchObject({ ok: false, error: { code: 'invalid_arguments' } })
    expect(traffic.requests).toHaveLength(1)
  })

  test('is not called once its Worker has another definition, until it is stored again', async () => {
    const { source, upload } = setup()
    const acme = upload('acme', definition('total'))
    await source.put('total', { worker: { script: 'acme' } })
    acme.change('total', { description: 'Deletes all.', hash: 'h-other' })
    const [before] = await source.find(['total'])
    expect(before && (await call(before, {}))).toMatchObject({ ok: false, error: { code: 'tool_changed' } })
    expect(await source.put('total', { worker: { script: 'acme' } })).toMatchObject({ ok: true, status: 'replaced' })
    const [after] = await source.find(['total'])
    expect(after?.definition.description).toBe('Deletes all.')
    expect(after && (await call(after, {}))).toEqual(text('done'))
  })

  test('replaces a Worker, and tells what that breaks', async () => {
    const { source, upload } = setup()
    upload('acme', definition('total'))
    upload('acme-2', definition('total', { inputSchema: OBJECT }))
    await source.put('total', { worker: { script: 'acme' } })
    expect(await source.put('total', { worker: { script: 'acme-2' } })).toMatchObject({
      ok: true,
      change: 'breaking',
      breaks: [
        { path: 'inputSchema.properties.month', message: 'is required now' },
        { path: 'worker.script', message: 'calls go to another target, or results are read in another way' },
      ],
    })
  })

  test('fails its calls when the Worker is gone', async () => {
    const { source, sourceElsewhere, upload, workers } = setup()
    upload('acme', definition('total'))
    await source.put('total', { worker: { script: 'acme' } })
    workers.clear()
    const [tool] = await sourceElsewhere().find(['total'])
    expect(tool && (await call(tool, {}))).toMatchObject({ ok: false, error: { code: 'tool_unreachable' } })
  })

  test.each([
    [
      'no such Worker',
      { script: 'other' },
      'worker.script',
      'expected a tool Worker, received "other": the dispatch namespace has none',
    ],
    [
      'no such tool',
      { script: 'acme', tool: 'x' },
      'worker.tool',
      'expected a tool of the Worker (total), received "x"',
    ],
    [
      'an old hash',
      { script: 'acme', hash: 'h-old' },
      'worker.hash',
      'expected "h-total", which the tool has now: its definition has changed',
    ],
    ['no script', {}, 'worker.script', 'expected the name of the script of a Worker'],
    ['an unknown key', { script: 'acme', url: 'x' }, 'worker.url', 'expected no such key, received "url"'],
  ])('is refused with %s', async (_, target, path, message) => {
    const { source, upload } = setup()
    upload('acme', definition('total'))
    const reply = await source.put('total', { worker: target })
    expect(reply).toEqual({ ok: false, issues: expect.arrayContaining([{ path, message }]) })
  })

  test('is refused with a schema that is not the Worker’s', async () => {
    const { source, upload } = setup()
    upload('acme', definition('total'))
    expect(await source.put('total', { worker: { script: 'acme' }, inputSchema: OBJECT })).toEqual({
      ok: false,
      issues: [{ path: 'inputSchema', message: 'expected what the Worker says of its tool; leave it out' }],
    })
  })

  test('is refused, and unavailable, in an edge without a dispatch namespace', async () => {
    const { source } = setup({ isBound: false })
    const message = 'this edge has no dispatch namespace (binding DISPATCHER)'
    expect(await source.put('total', { worker: { script: 'acme' } })).toEqual({
      ok: false,
      issues: [{ path: 'worker', message }],
    })
  })

  test('of a tenant names only scripts of this tenant', async () => {
    const { source, upload } = setup({ owner: tenantOwner('acme') })
    upload('acme--billing', definition('total'))
    upload('beta--billing', definition('total'))
    expect(await source.put('total', { worker: { script: 'acme--billing' } })).toMatchObject({ ok: true })
    expect(await source.put('total', { worker: { script: 'beta--billing' } })).toEqual({
      ok: false,
      issues: [
        {
          path: 'worker.script',
          message: 'expected a script of this tenant, whose name is that of the tenant, "--" and a further name',
        },
      ],
    })
  })
})

test.each([
  ['edge', 'anything', true],
  [tenantOwner('acme'), 'acme--billing', true],
  [tenantOwner('acme'), 'acme-billing', false],
  [tenantOwner('acme'), 'acme--', false],
  [tenantOwner('acme'), 'acme--labs--billing', false],
  [tenantOwner('acme--labs'), 'acme--labs--billing', true],
  [tenantOwner('acme'), 'acme', false],
  [tenantOwner('acme'), 'acme---billing', false],
  [tenantOwner('acme-'), 'acme---billing', true],
  [tenantOwner('acme'), 'acme--billing/../other', false],
  [tenantOwner('acme'), 'acme--bill ing', false],
  ['edge', '../other', false],
  ['edge', '-other', false],
  ['edge', '', false],
] as const)('definitions of %s may name the script %s: %o', (owner, script, isAllowed) => {
  expect(mayDispatch(owner, script)).toBe(isAllowed)
})
