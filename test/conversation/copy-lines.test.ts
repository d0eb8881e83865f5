import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CopyPlace } from '../../src/contract/backup.ts'
import { copyPart } from '../../src/conversation/backup/copy-part.ts'
import { SHORT_BYTES } from '../../src/conversation/backup/lines.ts'
import { writePart } from '../../src/conversation/backup/read-part.ts'
import { migrate } from '../../src/conversation/store/database.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'

/** Texts of copies, of which long ones become JSON and text in SQLite alone. */
const START: CopyPlace = {
  mark: { created: 0, place: 0, run: '', open: [] },
  ...{ part: 1, digest: '', table: 'meta', after: [], texts: 0 },
}

function emptyConversation(): DurableObjectStorage {
  const storage = memoryStorage(new DatabaseSync(':memory:'))
  migrate(storage)
  return storage
}

function bytesOf(...lines: object[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')))
}

const HEAD = { type: 'conversation', format: 2, id: 'c', part: 1 }

function store(storage: DurableObjectStorage, ...lines: object[]): void {
  writePart(storage.sql, bytesOf(HEAD, ...lines, { type: 'end', rows: lines.length }), { texts: [], isOpen: false })
}

/** Whether a long text is in the copy as JSON.stringify writes it, and in what is made of the copy. */
function survives(text: string): boolean {
  const from = emptyConversation()
  from.sql.exec('INSERT INTO wholes VALUES (?, ?)', 'call', text)
  from.sql.exec('INSERT INTO wholes VALUES (?, ?)', 'other', '@1/2')
  for (const part of [0, 1]) from.sql.exec('INSERT INTO chunks VALUES (1, ?, ?)', part, text)
  const row = (call: string, content: unknown) => ({ type: 'row', table: 'wholes', values: [call, content] })
  const lines = [
    ...[
      HEAD,
      row('call', text),
      { type: 'text', text, more: true },
      { type: 'text', text },
      row('other', { parts: 2 }),
    ],
    { type: 'end', rows: 4 },
  ]
  const { copy = new Uint8Array() } = copyPart(from, 'c', START) ?? {}
  if (!Buffer.from(copy).equals(bytesOf(...lines))) return false
  const to = emptyConversation()
  writePart(to.sql, copy, { texts: [], isOpen: false })
  const rows = ({ sql }: DurableObjectStorage) =>
    ['wholes', 'chunks'].map((table) => sql.exec(`SELECT * FROM ${table}`).toArray())
  return JSON.stringify(rows(to)) === JSON.stringify(rows(from))
}

/** Repeats a text until it is long. */
function long(text: string): string {
  return text.repeat(Math.ceil((SHORT_BYTES + 1) / Math.max(1, text.length)))
}

describe('a text of a copy', () => {
  test('is the same before and after, whatever its characters are', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({ unit: fc.constantFrom('"', '\\', '\n', 'u', '0', '{', '[', '@', 'Ω', '\0', '\u001F'), minLength: 1 }),
    )
    fc.assert(
      fc.property(texts, (text) => survives(long(text)) && survives(text)),
      { numRuns: 30 },
    )
    const all = Array.from({ length: 0xd800 }, (_, code) => String.fromCharCode(code)).join('')
    expect(survives(all)).toBe(true)
  })

  test.each([-3, -2, -1, 0, 1])('is the same around the length from which SQLite makes JSON of it (%i)', (more) => {
    expect(survives('x'.repeat(SHORT_BYTES + more))).toBe(true)
  })

  test.each([
    ['as it is', '@', (line: string) => line],
    ['with an escape', '@', (line: string) => line.replace('@', String.raw`\u0040`)],
  ])('names no other text, however long the name is, written %s', (_, first, write) => {
    const name = `${first}${'0'.repeat(2 * SHORT_BYTES)}1/1`
    const lines = bytesOf(
      HEAD,
      { type: 'text', text: 'Somebody else’s.' },
      { type: 'row', table: 'wholes', values: ['call', { parts: 1 }] },
      { type: 'row', table: 'wholes', values: ['other', name] },
      { type: 'end', rows: 3 },
    )
    const bytes = new Uint8Array(Buffer.from(write(Buffer.from(lines).toString())))
    const { sql } = emptyConversation()
    expect(() => writePart(sql, bytes, { texts: [], isOpen: false })).toThrow('line 4 names a text')
  })

  test('is refused if it is longer than an edge writes it, or no JSON', () => {
    const { sql } = emptyConversation()
    const write = (line: string) => {
      const text = `${JSON.stringify(HEAD)}\n${line}\n{"type":"end","rows":1}\n`
      return () => writePart(sql, new Uint8Array(Buffer.from(text)), { texts: [], isOpen: false })
    }
    expect(write(JSON.stringify({ type: 'text', text: 'x'.repeat(170_001) }))).toThrow('line 2 is not a text')
    expect(write(`{"type":"text","text":"${'x'.repeat(20_000)}\\q"}`)).toThrow(
      'line 2 cannot be stored: malformed JSON',
    )
    expect(write(`{"type":"text","text":"${'x'.repeat(20_000)}}`)).toThrow('line 2 is not JSON')
    expect(write(`{"type":"text","text":["${'x'.repeat(20_000)}"]}`)).toThrow('line 2 is not a text')
    store(emptyConversation(), { type: 'text', text: 'x'.repeat(170_000) })
  })
})
