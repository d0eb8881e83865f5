import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

function path(file: string): string {
  return new URL(file, import.meta.url).pathname
}

/**
 * What `npm run test:kit` runs and `npm test` does not, since each of these takes about ten seconds of a core or more: the
 * examples and the sample tools, the browser, what `npm start` and the commands do to whole projects and accounts, changes
 * of a running project, whole suites of others, losses at every commit, and what the compiler says of additions.
 */
const SLOW = [
  'test/examples/*.test.ts',
  'test/edge/{changed-keys,code-tools,dev,docs,lost,mcp-conformance,own-tools,schedules,search,start,studio}.test.ts',
  'test/cli/{doctor,eval,import,mcp/import-mcp,remote/remote}.test.ts',
  'test/catalogue/corpus.test.ts',
  'test/schema/corpus/corpus.test.ts',
  'test/schema/fit.property.test.ts',
  'test/faults/{classes,commits,short}.test.ts',
  'test/{http/placement,observe/exercise,triggers/schedules.property}.test.ts',
  'test/{additions,nameable-types,contract/event,wire/tool-fields}.test.ts',
]

/** Imports of pages and documents are their text, as wrangler bundles them. */
const text: Plugin = {
  name: 'text',
  enforce: 'pre',
  load: (id) => (/\.(?:html|txt)$/.test(id) ? `export default ${JSON.stringify(readFileSync(id, 'utf8'))}` : undefined),
}

export default defineConfig({
  plugins: [text],
  // What only workerd shows is tested in workerd; elsewhere the classes that the runtime gives are empty ones.
  resolve: {
    alias: [
      { find: 'cloudflare:workers', replacement: path('test/fixtures/runtime.ts') },
      // As the `paths` of tsconfig.json: this repository imports the doors as anybody does.
      { find: /^edgecall$/, replacement: path('src/edge.ts') },
      { find: /^edgecall\/(\w+)$/, replacement: path('src/$1.ts') },
      // A library of the clients, for the page in examples/.
      { find: /^ai$/, replacement: path('test/node_modules/ai/dist/index.js') },
    ],
  },
  test: {
    include: process.env['SLOW'] ? SLOW : ['test/**/*.test.ts', 'tools/*/*.test.ts'],
    exclude: ['**/node_modules/**', ...(process.env['SLOW'] ? [] : SLOW)],
    setupFiles: ['test/fixtures/seed.ts', 'test/fixtures/tidy.ts'],
    // A third of the time of the files that start workerd is waiting, so three at a time keep two cores busy.
    maxWorkers: 3,
    // Files share a process, which takes a third off; test/fixtures/tidy.ts leaves nothing of one to the next.
    isolate: false,
    // Long enough for a machine that is busy with ten other things; what hangs still ends.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // As in test/fixtures/eventually.ts.
    expect: { poll: { timeout: 200_000 } },
  },
})
