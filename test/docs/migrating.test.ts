import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import type { DefinedTool } from 'edgecall/tool'
import type { ToolOutcome } from '../../src/contract/tool.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { pages, ROOT } from './pages.ts'

const FOLDER = `${ROOT}test/docs/.migrating-${process.pid}`
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

/** A block of our own code, with a call of a tool that it exports, as the comment before it says. */
const CALL = /^<!-- call: (?<tool>\w+) (?<input>.*) gives (?<result>.*) -->\n\n```ts\n(?<code>[^]*?)^```$/gm
const page = pages().find(({ path }) => path === 'docs/migrating.md')
const calls = [...(page?.text ?? '').matchAll(CALL)].map(({ groups = {} }) => groups)

test('each library in docs/migrating.md has a tool of this repository beside it', () => {
  const sections = page?.text.match(/^## .*$/gm)
  expect(sections).toHaveLength(5)
  expect(calls).toHaveLength(5)
})

test.each(calls)('the tool $tool of docs/migrating.md, called with $input, gives $result', async (call) => {
  const { tool = '', input = '', result = '', code = '' } = call
  mkdirSync(FOLDER, { recursive: true })
  const file = `${FOLDER}/${tool}.ts`
  writeFileSync(file, code)
  const module: Record<string, DefinedTool> = await import(file)
  const outcome = await module[tool]?.call(JSON.parse(input), CONTEXT)
  expect(outcome).toMatchObject({ ok: true })
  expect(valueOf(outcome)).toEqual(JSON.parse(result))
})

function valueOf(outcome: ToolOutcome | undefined): unknown {
  if (!outcome?.ok) return undefined
  const [part] = outcome.content
  return (
    outcome.structured ??
    (part?.type === 'text' && /^[\d{]/.test(part.text) ? JSON.parse(part.text) : part?.type === 'text' && part.text)
  )
}
