import { defineConfig } from 'vitest/config'

export default defineConfig({
  // What only workerd shows is tested in workerd; elsewhere the classes that the runtime gives are empty ones.
  resolve: { alias: { 'cloudflare:workers': new URL('test/fixtures/runtime.ts', import.meta.url).pathname } },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/fixtures/seed.ts', 'test/fixtures/tidy.ts'],
    // Each file in test/edge starts workerd: two at a time is what two cores carry.
    maxWorkers: 2,
    // Files share a process, which takes a third off; test/fixtures/tidy.ts leaves nothing of one to the next.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
