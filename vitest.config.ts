import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

function path(file: string): string {
  return new URL(file, import.meta.url).pathname
}

/**
 * What `npm run test:kit` runs and `npm test` does not, since each of these takes about eight seconds of a core or more:
 * most of what runs on real workerd, the clients with suites of their own, the examples and the sample tools, the browser,
 * what the commands do to whole projects and accounts, losses at every commit, long series of random cases, and what the
 * compiler says of documents and additions.
 */
const SLOW = [
  'test/edge/{!(chat|conversation|loop|mcp|single-worker),mcp-conformance}.test.ts',
  'test/clients/{edgecall,generated-types,mcp,mcp-approvals,openai,workerd}.test.ts',
  'test/examples/*.test.ts',
  'test/cli/{backup,dev/builds,doctor,eval,import,main,mcp/import-mcp,remote/remote}.test.ts',
  'test/catalogue/corpus.test.ts',
  'test/conversation/{answers.property,context,copy-parts}.test.ts',
  'test/schema/{corpus/corpus,fit.property,narrower,work.property}.test.ts',
  'test/{host/stored/texts,search/stored-terms}.test.ts',
  'test/security/{copies,keyed-route-cpu,large-answers}.test.ts',
  'test/upgrades/{released,rollback}.test.ts',
  'test/faults/{classes,commits,eager,kinds/kinds,short,simulation/agents}.test.ts',
  'test/http/{budget-lease,number-doors,placement}.test.ts',
  'test/{observe/exercise,observe/reports,triggers/schedules.property,triggers/times}.test.ts',
  'test/platform/*.test.ts',
  'test/{additions,docs/code,nameable-types,contract/event,wire/tool-fields}.test.ts',
]

/** What runs once more under the limits of a plan of Cloudflare, as `PLATFORM` names it (test/fixtures/held-wrangler.ts). */
const HELD = ['test/edge/{conversation,code-mode,code-tools,agents,triggers,schedules,single-worker}.test.ts']
const plan = process.env['PLATFORM']

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
      ...(plan ? [{ find: /^wrangler$/, replacement: path('test/fixtures/held-wrangler.ts') }] : []),
      { find: /^ai$/, replacement: path('test/node_modules/ai/dist/index.js') },
    ],
  },
  test: {
    include: plan ? HELD : process.env['SLOW'] ? SLOW : ['test/**/*.test.ts', 'tools/*/*.test.ts'],
    exclude: ['**/node_modules/**', ...(plan || process.env['SLOW'] ? [] : SLOW)],
    setupFiles: ['test/fixtures/seed.ts', 'test/fixtures/tidy.ts'],
    // A third of the time of the files that start workerd is waiting, so three at a time keep two cores busy.
    maxWorkers: 3,
    // It imports the module of the runtime, for which the alias stands in.
    server: { deps: { inline: ['@cloudflare/workers-oauth-provider'] } },
    // Files share a process, which takes a third off; test/fixtures/tidy.ts leaves nothing of one to the next.
    isolate: false,
    // Long enough for a machine that is busy with ten other things; what hangs still ends.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // As in test/fixtures/eventually.ts.
    expect: { poll: { timeout: 200_000 } },
  },
})
