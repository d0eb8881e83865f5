import type { StoredTools } from '../../contract/catalogue.ts'

const REFUSAL = {
  ok: false,
  issues: [
    { path: '', message: 'expected an edge with the part storedTools and the bindings CATALOG, TOOLS and DEFINITIONS' },
  ],
} as const

/** The stored tools of an edge that cannot store any. */
export const NOTHING_STORED: StoredTools = {
  check: async () => REFUSAL,
  put: async () => REFUSAL,
  rollback: async () => undefined,
  remove: async () => false,
  history: async () => [],
  count: async () => 0,
  version: async () => undefined,
}
