import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memory } from 'edgecall/loop'
import type { ChatModel, ManualOptions, Memory, Message, Tool } from 'edgecall/loop'
import { ask, say, tool } from '../fixtures/play.ts'
import { scripted } from '../fixtures/scripted.ts'
import { pages, ROOT } from './pages.ts'

const FOLDER = `${ROOT}test/docs/.own-loop-${process.pid}`
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

const blocks = pages().find(({ path }) => path === 'docs/own-loop.md')?.blocks ?? []
const tools: readonly Tool[] = [tool('add', ({ a, b }) => Number(a) + Number(b))]
const SUM = [ask(['add', { a: 1, b: 2 }]), say('It is 3.')]
const fileOf = (text: string) => /^\/\/ (\S+)\n/.exec(text)?.[1] ?? ''

beforeAll(() => {
  for (const { text } of blocks) {
    const file = `${FOLDER}/${fileOf(text)}`
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
})

test('each loop of the page has at most 15 lines beside its path and its imports', () => {
  const lines = blocks.map(({ text }) =>
    text.split('\n').filter((line) => line !== '' && !/^(?:\/\/|import)/.test(line)),
  )
  expect(blocks.map(({ text }) => fileOf(text))).toEqual([
    'loops/simple.ts',
    'loops/approvals.ts',
    'loops/memory.ts',
    'loops/stream.ts',
  ])
  expect(lines.filter(({ length }) => length > 15)).toEqual([])
})

test('the simple loop calls tools until the model answers', async () => {
  const {
    answer,
  }: { answer: (model: ChatModel, tools: readonly Tool[], text: string, signal: AbortSignal) => unknown } =
    await import(`${FOLDER}/loops/simple.ts`)
  const model = scripted(SUM)
  expect(await answer(model, tools, 'What is 1 + 2?', new AbortController().signal)).toBe('It is 3.')
  expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
})

test('the loop with a memory shows the model the turns before', async () => {
  const { chat }: { chat: (model: ChatModel, tools: readonly Tool[], memory: Memory, text: string) => unknown } =
    await import(`${FOLDER}/loops/memory.ts`)
  const model = scripted([...SUM, say('3, as I said.')])
  const own = memory({ messages: 20 })
  expect([await chat(model, tools, own, 'What is 1 + 2?'), await chat(model, tools, own, 'Again?')]).toEqual([
    'It is 3.',
    '3, as I said.',
  ])
  const roles = model.requests[2]?.messages.map(({ role }) => role)
  expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
})

test('the streaming loop passes text on before the calls that follow it', async () => {
  const {
    stream,
  }: { stream: (model: ChatModel, options: ManualOptions, onText: (text: string) => void) => Promise<void> } =
    await import(`${FOLDER}/loops/stream.ts`)
  const trace: string[] = []
  const adding = tool('add', () => {
    trace.push('(called)')
    return 3
  })
  const script = [[{ type: 'text', text: 'Let me see.' } as const, ...ask(['add'])], say('It is 3.')]
  const messages: Message[] = [{ role: 'user', content: 'What is 1 + 2?' }]
  await stream(scripted(script), { messages, tools: [adding] }, (text) => trace.push(text))
  expect(trace).toEqual(['Let me see.', '(called)', 'It is 3.'])
})
