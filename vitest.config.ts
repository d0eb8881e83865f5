import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

function path(file: string): string {
  return new URL(file, import.meta.url).pathname
}

/** What `npm run test:kit` runs instead of `npm test`: the examples, and the sample tools against the checks of the kit. */
const SLOW = ['test/examples/*.test.ts', 'test/edge/own-tools.test.ts', 'test/catalogue/corpus.test.ts']

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
    // Each file in test/edge starts workerd: two at a time is what two cores carry.
    maxWorkers: 2,
    // Files share a process, which takes a third off; test/fixtures/tidy.ts leaves nothing of one to the next.
    isolate: false,
    // Long enough for a machine that is busy with ten other things; what hangs still ends.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    // As in test/fixtures/eventually.ts.
    expect: { poll: { timeout: 100_000 } },
  },
})
