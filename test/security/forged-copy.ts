import { DEFAULT_LIMITS } from '../../src/contract/limits.ts'

/** A row of a copy, as a caller may write one. */
export interface ForgedRow {
  readonly table: string
  readonly values: readonly unknown[]
}

/** Writes a copy of a conversation as nobody but an attacker does: by hand. */
export function copyOf(id: string, rows: readonly ForgedRow[]): string {
  const lines = [
    { type: 'conversation', format: 1, id },
    ...rows.map((row) => ({ type: 'row', ...row })),
    { type: 'end', rows: rows.length },
  ]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** The columns of a run in a copy. */
const RUN = {
  place: 1,
  id: 'run_1',
  status: 'parked',
  request: '{}',
  toolset: 1,
  record: null,
  reserved: 1024,
  interrupted: 0,
  created: 1,
  stalled: null,
  ended: null,
  pruned: null,
  idle: 0,
  resumes: 0,
}

export function runRow(columns: Partial<Record<keyof typeof RUN, string | number | null>>): unknown[] {
  return Object.values({ ...RUN, ...columns })
}

/** The request of a stored run, as an edge stores it, with other fields. */
export function forgedRequest(fields: object): object {
  return {
    runId: 'run_1',
    durable: true,
    input: [{ role: 'user', content: 'Go' }],
    clientTools: [],
    context: {},
    limits: DEFAULT_LIMITS,
    execution: 'edge',
    toolErrors: 'model',
    ...fields,
  }
}

/** A definition without its approval, by the hash of the true one. */
export function forgedTool(name: string, hash: string): object {
  return { name, description: 'x', inputSchema: { type: 'object' }, version: '1', hash, annotations: {} }
}
