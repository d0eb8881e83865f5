import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

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

test('a provider of a new format takes 12 files with its tests, as Gemini’s does', () => {
  expect(filesNaming(/gemini/i)).toEqual([
    'docs/configuration.md', // Written by `npm run openapi`.
    'docs/models.md',
    'src/edge.ts',
    'src/edge/providers.ts',
    'src/model/gemini.ts',
    'src/wire/provider/gemini/ask-answer.ts',
    'src/wire/provider/gemini/ask-contents.ts',
    'src/wire/provider/gemini/ask-request.ts',
    'test/fixtures/recorded/gemini.sse',
    'test/model/gemini.test.ts',
    'test/wire/provider/gemini/ask-answer.test.ts',
    'test/wire/provider/gemini/ask-request.test.ts',
  ])
})

test('a surface takes 8 files beside its tests, as AG-UI does', () => {
  // README names the protocols that clients may speak; it lists no surfaces.
  const files = filesNaming(/\bag-?ui\b/i).filter((path) => path !== 'README.md')
  expect(files.filter((path) => !path.startsWith('test/'))).toEqual([
    'docs/calling.md',
    'src/cli/document/client-routes.ts',
    'src/edge.ts',
    'src/edge/everything.ts',
    'src/http/openapi.txt', // Written by `npm run openapi`.
    'src/http/surfaces/ag-ui.ts',
    'src/wire/client/ag-ui/events.ts',
    'src/wire/client/ag-ui/request.ts',
  ])
})
