import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import type { ToolService } from '../../src/contract/tool.ts'
import { defineTool } from '../../src/tool/define.ts'
import { serveTools } from '../../src/tool/serve.ts'
import { CONTROL, text, toolRequest } from '../host/source/calls.ts'

interface Env {
  readonly HOUSE: string
}

const input = v.object({ room: v.string() })
const book = defineTool<typeof input, Env>({
  name: 'book',
  description: 'Books a room.',
  input,
  run: ({ room }, { env, trusted }) => `${env.HOUSE} ${room} ${String(trusted?.['plan'])}`,
  status: ({ idempotencyKey, env }) => ({ status: 'done', result: `${env.HOUSE} ${idempotencyKey}` }),
  undo: ({ room }, outcome, { env }) => `${env.HOUSE} ${room} ${outcome.content.length}`,
})
const look = defineTool<typeof input, Env>({ name: 'look', description: 'Looks.', input, run: () => 'seen' })

/** The Worker as the runtime makes it, with its bindings. */
function worker(bindings: object = {}): Required<ToolService> & { fetch(): Response } {
  const service = Reflect.construct(serveTools(book, look, look), [])
  return Object.assign(service, { env: { HOUSE: 'Grand', ...bindings } })
}

async function hashOf(name: string): Promise<string> {
  const { tools } = await worker().describe()
  return tools.find((tool) => tool.name === name)?.hash ?? ''
}

const DONE = { ok: true as const, content: [{ type: 'text' as const, text: 'booked' }] }

test('a Worker describes its tools in their order, each once', async () => {
  expect(await worker().describe()).toEqual({
    contract: 1,
    tools: [await book.describe(), await look.describe()],
    checksOutput: true,
  })
})

describe('calls', () => {
  test('run with the bindings of the Worker and the context of the edge', async () => {
    const request = toolRequest('book', { room: '7' }, { hash: await hashOf('book') })
    const context = { ...request.context, trusted: { plan: 'pro' } }
    expect(await worker().call({ ...request, context }, CONTROL)).toEqual(text('Grand 7 pro'))
  })

  test.each([
    ['the tag of the deployed version', { id: 'e8b4', tag: 'v12', timestamp: '' }, { deployment: 'v12' }],
    ['its id, if it has no tag', { id: 'e8b4', tag: '', timestamp: '' }, { deployment: 'e8b4' }],
    ['no deployment, if the binding is something else', 'v12', {}],
  ])('have %s in their outcome', async (_, metadata, expected) => {
    const request = toolRequest('look', { room: '7' }, { hash: await hashOf('look') })
    const outcome = await worker({ CF_VERSION_METADATA: metadata }).call(request, CONTROL)
    expect(outcome).toEqual({ ...text('seen'), ...expected })
  })

  test('of an unknown tool or another definition do nothing', async () => {
    expect(await worker().call(toolRequest('none'), CONTROL)).toMatchObject({ error: { code: 'unknown_tool' } })
    expect(await worker().call(toolRequest('book', {}, { hash: 'old' }), CONTROL)).toMatchObject({
      error: { code: 'schema_mismatch' },
    })
  })
})

describe('an earlier call', () => {
  const request = toolRequest('book', { room: '7' }, { hash: 'of a definition that has changed since' })

  test('has a status and can be undone', async () => {
    expect(await worker().status(request)).toEqual(text('Grand key_1'))
    expect(await worker().undo(request, DONE)).toEqual(text('Grand 7 1'))
  })

  test('has an unknown status and cannot be undone if the tool does not offer that', async () => {
    for (const name of ['look', 'none']) {
      expect(await worker().status({ ...request, name })).toBe('unknown')
      expect(await worker().undo({ ...request, name }, DONE)).toEqual({
        ok: false,
        error: { code: 'cannot_undo', message: `The tool "${name}" cannot undo its calls.` },
      })
    }
  })
})

test('a Worker of tools answers nothing over HTTP', () => {
  expect(worker().fetch().status).toBe(404)
})

test('two tools of one name in a Worker are refused at once', () => {
  const other = defineTool<typeof input, Env>({ name: 'book', description: 'Another.', input, run: () => '' })
  expect(() => serveTools(book, other)).toThrow(new TypeError('Two tools here are named "book"'))
})

test('a call asks its host only for what the tool uses', async () => {
  const requests: string[] = []
  const control = {
    whenAborted: async () => (requests.push('whenAborted'), 'settled'),
    progress: async () => void requests.push('progress'),
  }
  await worker().call(toolRequest('book', { room: '7' }, { hash: await hashOf('book') }), control)
  expect(requests).toEqual([])
})
