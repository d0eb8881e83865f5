import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

function path(file: string): string {
  return new URL(file, import.meta.url).pathname
}

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
    include: ['test/**/*.test.ts', 'tools/*/*.test.ts'],
    setupFiles: ['test/fixtures/seed.ts', 'test/fixtures/tidy.ts'],
    // Each file in test/edge starts workerd: two at a time is what two cores carry.
    maxWorkers: 2,
    // Files share a process, which takes a third off; test/fixtures/tidy.ts leaves nothing of one to the next.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
