import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

const ROOT = new URL('..', import.meta.url).pathname

const TEXTS = [
  '{src,tools,examples,docs}/**/*.{ts,tsx,md,toml,json,txt}',
  'test/**/*.{ts,sse,json,md}',
  '{package,knip,tsconfig}.json',
  '{wrangler.toml,vitest.config.ts,CONTRIBUTING.md,README.md}',
]

/** Returns the files whose path or text matches a name. They are those that its owner's format adds or edits. */
function filesNaming(name: RegExp): string[] {
  return globSync(TEXTS, { cwd: ROOT, exclude: (path) => /node_modules|\.wrangler|additions\.test/.test(path) })
    .filter((path) => name.test(path) || name.test(readFileSync(ROOT + path, 'utf8')))
    .sort()
}

test('a provider of a new format takes 32 files with its tests, as Gemini’s does, and 6 for tools that it runs', () => {
  // It lists what other libraries have.
  const files = filesNaming(/gemini/i).filter((path) => path !== 'docs/migrating-from-java.md')
  const isOfTools = (path: string) => /provider-tool|own-tools/.test(path)
  expect(files.filter(isOfTools)).toEqual([
    'docs/provider-tools.md',
    'src/contract/provider-tool.ts',
    'src/edge/provider-tools.ts',
    'src/model/provider-tools.ts',
    'src/wire/provider/gemini/own-tools.ts',
    'test/http/provider-tools.test.ts',
  ])
  expect(files.filter((path) => !isOfTools(path))).toEqual([
    'docs/configuration.md', // Written by `npm run openapi`.
    'docs/models.md',
    'docs/schemas.md', // Written by `npm run openapi`.
    'src/cli/document/dialects.ts', // Where its limits are said.
    'src/edge.ts',
    'src/edge/providers.ts',
    'src/model/ai-sdk.ts', // If the AI SDK has it, too.
    'src/model/gemini.ts',
    'src/model/windows.ts',
    'src/observe/span-recorder.ts', // If OpenTelemetry has another name for it.
    'src/wire/provider/dialects.ts', // If it refuses schemas that others take.
    'src/wire/provider/gemini/answer.ts',
    'src/wire/provider/gemini/request.ts',
    'src/wire/provider/model-error.ts',
    'src/wire/provider/refused-item.ts', // How it says which file it refuses.
    'test/fixtures/gen-ai-convention.json', // The names that OpenTelemetry has.
    'test/fixtures/recorded/gemini.sse',
    'test/http/provider-options.test.ts',
    'test/model/gemini.test.ts',
    'test/model/refused-item.test.ts',
    'test/model/unruly-servers.test.ts',
    'test/security/README.md',
    'test/security/mutations.ts',
    'test/security/provider-usage.test.ts',
    'test/security/redirects.test.ts',
    'test/wire/fit-request.property.test.ts',
    'test/wire/fit-request.test.ts',
    'test/wire/input-examples.test.ts',
    'test/wire/overflow.test.ts',
    'test/wire/provider/gemini/ask-answer.test.ts',
    'test/wire/provider/gemini/ask-request.test.ts',
    'test/wire/provider/unruly-servers.test.ts',
  ])
})

test('a part takes two files of code: its own, and the list of parts, as that of `useChat` does', () => {
  expect(filesNaming(/\buiChat\b/).filter((path) => path.startsWith('src/'))).toEqual([
    'src/edge/parts.ts',
    'src/http/surfaces/ui-chat.ts',
  ])
})

test('a surface takes 13 files beside its tests, as AG-UI does', () => {
  // These name the protocols that clients may speak; they list no surfaces.
  const prose = ['README.md', 'docs/README.md', 'docs/agents.md', 'docs/provider-tools.md']
  const files = filesNaming(/\bag-?ui\b/i).filter((path) => !prose.includes(path))
  expect(files.filter((path) => !path.startsWith('test/'))).toEqual([
    'docs/calling.md',
    'docs/parts.md',
    'docs/run-events.md', // Written by `npm run openapi`.
    'src/cli/document/client-answers.ts',
    'src/cli/document/client-routes.ts',
    'src/cli/document/operation.ts',
    'src/cli/document/run-events.ts', // Where it is said which file reads its events.
    'src/edge/parts.ts',
    'src/http/openapi.txt', // Written by `npm run openapi`.
    'src/http/surfaces/ag-ui.ts',
    'src/wire/client/ag-ui/events.ts',
    'src/wire/client/ag-ui/messages.ts',
    'src/wire/client/ag-ui/request.ts',
  ])
})

test('a surface with errors and keys of its own takes no more files of code, as Anthropic’s Messages do', () => {
  const files = filesNaming(/anthropic-?messages|messagesApi|AnthropicError|\/v1\/messages/i)
  const others = /^(?:docs|tools\/mail|src\/(?:model|edge\.ts|cli\/document|http\/openapi))|^test\//
  expect(files.filter((path) => !others.test(path))).toEqual([
    'src/edge/parts.ts',
    'src/http/runs/context-edits.ts',
    'src/http/runs/summary.ts',
    'src/http/surfaces/messages.ts',
    'src/wire/client/anthropic-messages/answer.ts',
    'src/wire/client/anthropic-messages/context-edits.ts',
    'src/wire/client/anthropic-messages/members.ts',
    'src/wire/client/anthropic-messages/messages.ts',
    'src/wire/client/anthropic-messages/nested-members.ts',
    'src/wire/client/anthropic-messages/request.ts',
    'src/wire/client/anthropic-messages/tools.ts',
    'src/wire/client/anthropic-messages/typed-tools.ts',
    'src/wire/client/anthropic-messages/usage.ts',
  ])
})

test('a limit takes two files: its entry in the table, and the place that enforces it', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'limit-'))
  try {
    cpSync(join(ROOT, 'src'), join(copy, 'src'), { recursive: true })
    for (const name of ['node_modules', 'tsconfig.json', 'package.json'])
      symlinkSync(join(ROOT, name), join(copy, name))
    const table = join(copy, 'src/contract/limits.ts')
    const entry = "  /** The maximum number of questions. */\n  questions: { variable: 'MAX_QUESTIONS', initial: 3 },\n"
    writeFileSync(
      table,
      readFileSync(table, 'utf8').replace('export const LIMITS = {\n', (line) => line + entry),
    )
    // All else follows: the compiler asks for nothing, and each reader of the table has the limit.
    await run('node_modules/.bin/tsc', ['--noEmit', '--project', '.'], { cwd: copy })
    const readers = `
      import { configurationPages } from './src/cli/document/configuration.ts'
      import { bodySchemas } from './src/cli/document/bodies.ts'
      import { readConfig } from './src/contract/config.ts'
      console.log(JSON.stringify([
        configurationPages()['run-configuration.md'].match(/.*MAX_QUESTIONS.*/)[0].replaceAll(/ +/g, ' '),
        bodySchemas().Limits.properties.questions,
        readConfig({ MAX_QUESTIONS: '7' }).limits.questions,
        readConfig({}).limits.questions,
      ]))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', readers], { cwd: copy })
    expect(JSON.parse(stdout)).toEqual([
      '| `MAX_QUESTIONS` | The maximum number of questions. In a request: `limits.questions`. | `3` |',
      { type: 'integer', minimum: 1, description: 'The maximum number of questions.' },
      7,
      3,
    ])
  } finally {
    rmSync(copy, { recursive: true })
  }
})
