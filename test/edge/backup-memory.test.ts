import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hmac, toBase64Url } from '../../src/contract/bytes.ts'
import type { CopyPlace } from '../../src/contract/backup.ts'
import { signCopy } from '../../src/wire/client/copy-signature.ts'
import { build, configure, serve, type Workerd } from '../bench/workerd.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'

/** The memory of workerd while a long conversation is copied. Linux tells it. */
const SECRET = 'signs-what-this-edge-makes'
/** The strings, or replies over RPC, of a copy of this size would take 100 MB before V8 collects any. */
const COPY_BYTES = 120_000_000
/** The bound for copies of any size. */
const MOST_BYTES = 64_000_000

let folder: string
let workerd: Workerd

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'edgecall-memory-'))
  const bundle = await build('src/index.ts', 'wrangler.toml', join(folder, 'bundle'))
  const vars = { ...withKeys(apiKey('owner', { scopes: ['chat', 'backup'] })), OUTCOME_SECRET: SECRET }
  const objects = { CONVERSATIONS: 'Conversation', DIRECTORIES: 'Directory' }
  const config = configure([{ name: 'edge', bundle, vars, objects }], folder)
  workerd = await serve(config, ['edge'])
})
afterAll(async () => {
  await workerd?.stop()
  rmSync(folder, { recursive: true })
})

const signer = {
  sign: async (text: string) => toBase64Url(await hmac(new TextEncoder().encode(SECRET), `edgecall copy ${text}`)),
  isSigned: async () => true,
}

/** Makes the parts of a signed copy of a conversation whose results have 150,000 characters each. */
async function* copyOf(id: string, bytes: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const result = JSON.stringify([{ type: 'text', text: 'A “result” of a tool.\n'.repeat(6_500) }])
  const row = (call: number) => JSON.stringify({ type: 'row', table: 'wholes', values: [`call_${call}`, result] })
  const rows = Math.ceil(4_000_000 / row(0).length)
  const mark: CopyPlace['mark'] = { created: 0, place: 0, run: '', open: [] }
  const place = { mark, table: 'wholes', after: [], texts: 0 }
  let [sum, digest] = [0, '']
  for (let part = 1; sum < bytes; part++) {
    const lines = [
      JSON.stringify({ type: 'conversation', format: 2, id, part, ...(part > 1 && { after: digest }) }),
      ...Array.from({ length: rows }, (_, index) => row(part * rows + index)),
      JSON.stringify({ type: 'end', rows }),
    ]
    const copy = new Uint8Array(Buffer.from(lines.map((line) => `${line}\n`).join('')))
    sum += copy.byteLength
    const next = sum < bytes ? { next: { ...place, part: part + 1 } } : {}
    const signed = await signCopy({ copy, ...next }, { tenant: 'acme', id }, signer)
    digest = signed.next?.digest ?? ''
    yield signed.body
    yield signed.lastLine
  }
}

async function restore(id: string, bytes: number): Promise<void> {
  const request = {
    method: 'PUT',
    headers: bearer('owner'),
    body: Readable.toWeb(Readable.from(copyOf(id, bytes))),
    duplex: 'half',
  }
  const answer = await fetch(`${workerd.urls['edge']}/backups/${id}`, request)
  expect([answer.status, await answer.json()]).toEqual([201, { id, signed: true }])
}

/** Reads a copy, and returns its length. */
async function copy(id: string): Promise<number> {
  const answer = await fetch(`${workerd.urls['edge']}/backups/${id}`, { headers: bearer('owner') })
  expect(answer.status).toBe(200)
  let bytes = 0
  for await (const piece of answer.body ?? []) bytes += piece.byteLength
  return bytes
}

/** Returns the memory that workerd has of its own, without its program and files. */
function ownBytes(): number {
  const [, kib] = /^Anonymous:\s+(\d+)/m.exec(readFileSync(`/proc/${workerd.pid}/smaps_rollup`, 'utf8')) ?? []
  return Number(kib) * 1024
}

/** Returns by how much the memory of workerd grew at most while some work was done. */
async function growthOf(work: () => Promise<unknown>): Promise<number> {
  const before = ownBytes()
  let most = before
  const timer = setInterval(() => (most = Math.max(most, ownBytes())), 20)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return Math.max(most, ownBytes()) - before
}

test.skipIf(process.platform !== 'linux')('a long conversation is restored and copied in less than 64 MB', async () => {
  await restore('short', 8_000_000)
  await copy('short')
  expect(await growthOf(() => restore('long', COPY_BYTES))).toBeLessThan(MOST_BYTES)
  let bytes = 0
  const growth = await growthOf(async () => (bytes = await copy('long')))
  expect(bytes).toBeGreaterThan(COPY_BYTES)
  expect(growth).toBeLessThan(MOST_BYTES)
})
