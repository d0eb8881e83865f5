import { type Platform, bytesIn } from './invocation.ts'

const encoder = new TextEncoder()

/** Holds the storage of an object to the limits, in place: the runtime takes no other state. */
export function holdStorage(platform: Platform, { storage }: DurableObjectState): void {
  const { sql } = storage
  const { row, storage: most } = platform.figures
  const refuse = (what: string, bytes: number): never => {
    platform.report('row', `${what} writes ${bytes} bytes into a row, and ${row} are allowed.`)
    throw new Error('string or blob too big: SQLITE_TOOBIG')
  }
  const refuseIfFull = (what: string) => {
    if (sql.databaseSize <= most) return
    platform.report('storage', `${what} writes into an object of ${sql.databaseSize} bytes; ${most} are allowed.`)
    throw new Error('database or disk is full: SQLITE_FULL')
  }
  const exec = sql.exec.bind(sql)
  const checkedExec: typeof exec = (statement, ...values) => {
    if (/^\s*(?:insert|replace|update|with)\b/i.test(statement)) {
      const words = statement.trim().replaceAll(/\s+/g, ' ').slice(0, 60)
      const bytes = Math.max(0, ...rowSizes(statement, values))
      if (bytes > row) refuse(words, bytes)
      refuseIfFull(words)
    }
    return exec(statement, ...values)
  }
  sql.exec = checkedExec
  const check = (key: unknown, value: unknown) => {
    const entries = typeof key === 'object' && key !== null ? Object.entries(key) : [[String(key), value] as const]
    for (const [name, each] of entries) {
      const bytes = name.length + bytesIn(each)
      if (bytes > row) refuse(`put of ${name}`, bytes)
      refuseIfFull(`put of ${name}`)
    }
  }
  const put = storage.put.bind(storage)
  const putNow = storage.kv.put.bind(storage.kv)
  Object.assign(storage, {
    put: async (...args: unknown[]) => {
      check(args[0], args[1])
      await Reflect.apply(put, storage, args)
    },
  })
  Object.assign(storage.kv, {
    put: (...args: unknown[]) => {
      check(args[0], args[1])
      Reflect.apply(putNow, storage.kv, args)
    },
  })
}

/** Returns how large the rows are that a statement writes, as far as its values tell. */
function rowSizes(statement: string, values: readonly unknown[]): readonly number[] {
  const sizes = values.map(byteLength)
  const rows = /\bvalues\b/i.test(statement) ? tuplesOf(statement) : 0
  if (/^\s*update\b/i.test(statement)) return [sum(sizes)]
  if (rows === 0 || sizes.length % rows !== 0) return sizes
  const width = sizes.length / rows
  return Array.from({ length: rows }, (_, at) => sum(sizes.slice(at * width, (at + 1) * width)))
}

/** Returns how many rows follow `VALUES`. */
function tuplesOf(statement: string): number {
  const [, tuples = ''] = /\bvalues\b(.*)$/is.exec(statement) ?? []
  let depth = 0
  let count = 0
  for (const char of tuples) {
    if (char === '(' && depth++ === 0) count += 1
    else if (char === ')') depth -= 1
    // What to do about conflicts, and what to return, comes after the rows.
    else if (depth === 0 && !/[\s,]/.test(char)) break
  }
  return count
}

function byteLength(value: unknown): number {
  if (typeof value === 'string') return encoder.encode(value).byteLength
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value) ? value.byteLength : 8
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0)
}
