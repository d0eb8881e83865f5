import * as v from 'valibot'
import { expect, test } from 'vitest'
import { defineTool } from 'edgecall/tool'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { call, CONTROL, text, toolRequest } from './calls.ts'

const greet = defineTool({
  name: 'greet',
  description: 'Greets.',
  input: v.object({ name: v.string() }),
  run: ({ name }, { env, progress, signal, caller }) => {
    progress('half')
    return `${String(env)} ${name} ${caller.tenant} ${signal.aborted}`
  },
})
const wait = defineTool({
  name: 'wait',
  description: 'Waits to be aborted.',
  input: v.object({}),
  run: async (_, { signal }) => {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return String(signal.reason)
  },
})

test('inline tools are listed, found and called with the env', async () => {
  const source = inlineSource([greet, wait], { env: 'Hello', offered: (name) => name === 'greet' })
  const { tools, unavailable } = await source.list()
  expect(unavailable).toEqual([])
  expect(tools.map(({ definition, origin, offered }) => [definition.name, origin, offered])).toEqual([
    ['greet', 'inline', true],
    ['wait', 'inline', false],
  ])
  const matches = await source.find(['none', 'greet', 'greet'])
  expect(matches).toHaveLength(1)
  expect(matches[0]?.definition).toEqual(await greet.describe())
  expect(await call(matches[0], { name: 'Ada' })).toEqual(text('Hello Ada acme false'))
  expect(await call(matches[0], { name: [] })).toMatchObject({ ok: false, error: { code: 'invalid_arguments' } })
})

test('progress and abort are passed between an inline tool and its caller', async () => {
  const news: unknown[] = []
  const abort = Promise.withResolvers<string>()
  const control = { whenAborted: () => abort.promise, progress: async (progress: unknown) => void news.push(progress) }
  const source = inlineSource([greet, wait], { env: undefined })
  const [tell] = await source.find(['greet'])
  await tell?.call(toolRequest('greet', { name: 'x' }, { hash: tell.definition.hash }), control)
  expect(news).toEqual([{ message: 'half' }])
  const [slow] = await source.find(['wait'])
  const waiting = slow?.call(toolRequest('wait', {}, { hash: slow.definition.hash }), control)
  abort.resolve('cancelled')
  expect(await waiting).toEqual(text('Error: cancelled'))
})

test('a call of another definition is refused', async () => {
  const [tool] = await inlineSource([greet], { env: '' }).find(['greet'])
  expect(await tool?.call(toolRequest('greet', { name: 'x' }, { hash: 'old' }), CONTROL)).toEqual({
    ok: false,
    error: { code: 'tool_changed', message: 'The tool "greet" has changed since it was offered; it was not called.' },
  })
})

test('two tools of one name are refused at once, and the same tool twice is one', async () => {
  const other = defineTool({ name: 'greet', description: 'Another.', input: v.object({}), run: () => '' })
  expect(() => inlineSource([greet, other], { env: '' })).toThrow(new TypeError('Two tools here are named "greet"'))
  expect((await inlineSource([greet, greet], { env: '' }).list()).tools).toHaveLength(1)
})

test('the place of inline tools is the operator’s name for it', async () => {
  const [tool] = await inlineSource([greet], { env: '', place: 'house tools' }).find(['greet'])
  expect(tool?.place).toBe('house tools')
})

test('status and undo are present exactly if the tool has them', async () => {
  const book = defineTool({
    name: 'book',
    description: 'Books.',
    input: v.object({ room: v.string() }),
    run: () => 'booked',
    status: ({ idempotencyKey }, { room }) => ({ status: 'done' as const, result: `${idempotencyKey} ${room}` }),
    undo: ({ room }, outcome, { env }) => `${String(env)}: ${room}, ${outcome.content.length}`,
  })
  const [tool, plain] = await inlineSource([book, greet], { env: 'Hotel' }).find(['book', 'greet'])
  const request = toolRequest('book', { room: '7' }, { hash: 'whatever it was' })
  expect([tool?.definition.reconcile, tool?.definition.undo]).toEqual([true, true])
  expect(await tool?.status?.(request)).toEqual(text('key_1 7'))
  expect(await tool?.undo?.(request, { ok: true, content: [{ type: 'text', text: 'booked' }] })).toEqual(
    text('Hotel: 7, 1'),
  )
  expect(Object.keys(Object(plain))).toEqual(['definition', 'origin', 'place', 'offered', 'call'])
})
