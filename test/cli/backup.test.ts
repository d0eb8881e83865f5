import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { start } from './command.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

async function run(args: string[]) {
  const command = start(process.execPath, [MAIN, ...args], { cwd: process.cwd(), env: { EDGECALL_KEY: 'ek_1' } })
  try {
    return { code: await command.ended, out: command.out(), errors: command.errors() }
  } finally {
    command.kill()
  }
}

/** A copy of a conversation in one part. */
function copyOf(id: string): string {
  return `${JSON.stringify({ type: 'conversation', format: 1, id })}\n${JSON.stringify({ type: 'end', rows: 0 })}\n`
}

/** The parts of a copy of a conversation. */
function partsOf(id: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const head = { type: 'conversation', format: 2, id, part: index + 1 }
    const row = { type: 'row', table: 'joined', values: ['x'.repeat(12_000_000), '', ''] }
    const end = { type: 'end', rows: 1, ...(index + 1 < count && { next: `${index + 2}` }) }
    return [head, row, end].map((line) => `${JSON.stringify(line)}\n`).join('')
  })
}

/**
 * An edge that has these conversations, in pages of two. `faults`: what becomes of requests for copies, one after the
 * other: the answer breaks off after so many bytes, or has this status.
 */
async function edge(
  copies: Map<string, string>,
  faults: (number | { readonly status: number; readonly code: string } | undefined)[] = [],
): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = []
  const received = new Map<string, string[]>()
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://edge')
    const place = searchParams.get('after')
    const query = pathname.startsWith('/backups') && place !== null ? `?after=${place}` : ''
    requests.push(`${request.method} ${pathname}${query} ${request.headers.authorization}`)
    const body = Buffer.concat(await request.toArray()).toString()
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const after = searchParams.get('after') ?? ''
    if (pathname === '/conversations') {
      const page = [...copies.keys()].toSorted().filter((id) => id > after)
      return json(
        200,
        page.slice(0, 2).map((id) => ({ id })),
      )
    }
    const [, , id = '', action] = pathname.split('/')
    if (action === 'rewind') return json(202, { id, at: JSON.parse(body).at })
    const fault = faults.shift()
    if (typeof fault === 'object') return json(fault.status, { code: fault.code, detail: fault.code })
    if (request.method === 'GET') {
      const copy = copies.get(id)
      if (copy === undefined) return json(404, { detail: 'No such.' })
      const parts = copy.split(/(?<=\n)(?=\{"type":"conversation")/)
      const text = parts.slice(Number(place ?? 1) - 1).join('')
      if (fault === undefined) return response.end(text)
      return response.write(text.slice(0, fault), () => response.destroy())
    }
    const { format, part } = JSON.parse(body === 'broken' ? '{}' : (body.split('\n')[0] ?? ''))
    if (format === 2) {
      const parts = received.get(id) ?? []
      received.set(id, parts)
      if (part === parts.length + 1) parts.push(body)
      if (body.includes('"next":')) return json(202, { id, signed: true, part: parts.length })
      copies.set(id, parts.join(''))
      return json(201, { id, signed: true })
    }
    if (body === 'broken') return json(422, { code: 'invalid_copy', detail: 'The copy cannot be restored.' })
    if (copies.has(id)) return json(409, { code: 'conversation_exists' })
    copies.set(id, body)
    return json(201, { id, signed: id === 'a' })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

function folder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-backup-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test('the commands backup and restore carry all conversations of a tenant from one edge to another', async () => {
  const copies = new Map(['a', 'b', 'c'].map((id) => [id, copyOf(id)]))
  const present = new Map([['b', 'its own\n']])
  const [from, to, files] = [await edge(copies), await edge(present), folder()]
  const backup = await run(['backup', files, '--url', from.url])
  expect(backup).toMatchObject({ code: 0, errors: '' })
  expect(backup.out).toMatch(/\n3 conversations copied to .*\n$/)
  expect(readdirSync(files)).toEqual(['a.jsonl', 'b.jsonl', 'c.jsonl'])
  expect(readFileSync(join(files, 'a.jsonl'), 'utf8')).toBe(copyOf('a'))
  expect(await run(['restore', files, '--url', to.url])).toEqual({
    code: 0,
    out: 'a: created\nb: is there already\nc: created as your own, since this edge has not signed the copy\n',
    errors: '',
  })
  expect([...present]).toEqual([
    ['b', 'its own\n'],
    ['a', copyOf('a')],
    ['c', copyOf('c')],
  ])
  expect(to.requests).toEqual(['a', 'b', 'c'].map((id) => `PUT /backups/${id} Bearer ek_1`))
})

test('the commands backup and restore take one conversation, and name the one that the edge refuses', async () => {
  const [{ url, requests }, files] = [await edge(new Map([['a', copyOf('a')]])), folder()]
  expect(await run(['backup', files, '--conversation', 'a', '--url', url])).toMatchObject({ code: 0 })
  expect(requests).toEqual(['GET /backups/a Bearer ek_1'])
  expect(await run(['backup', files, '--conversation', 'none', '--url', url])).toMatchObject({
    code: 1,
    errors: expect.stringContaining('The conversation none was not copied: No such.'),
  })
  expect(readdirSync(files)).toEqual(['a.jsonl'])
  writeFileSync(join(files, 'b.jsonl'), 'broken')
  expect(await run(['restore', files, '--url', url])).toMatchObject({
    code: 1,
    errors: expect.stringContaining('The conversation b was not created: The copy cannot be restored.'),
  })
  expect(await run(['restore', folder(), '--url', url])).toMatchObject({
    code: 1,
    errors: expect.stringContaining('There are no copies (*.jsonl)'),
  })
  for (const more of [[], ['--conversation', 'a']]) {
    expect(await run(['restore', 'no-such-folder', ...more, '--url', url])).toEqual({
      code: 1,
      out: '',
      errors: 'There is no folder no-such-folder.\nName the folder that edgecall backup has written.\n',
    })
  }
  expect(await run(['restore', files, '--conversation', 'none', '--url', url])).toMatchObject({
    code: 1,
    errors: `There are no copies (none.jsonl) in ${files}.\n`,
  })
})

test('the commands backup and restore continue where they broke off, and tell how far they have come', async () => {
  const parts = partsOf('a', 3)
  const size = parts.join('').length
  // The first answer breaks off within the second part, and nothing is answered to the next request.
  const from = await edge(new Map([['a', parts.join('')]]), [12_100_000, { status: 500, code: 'internal_error' }])
  const files = folder()
  const words = [files, '--conversation', 'a', '--url']
  expect(await run(['backup', ...words, from.url])).toMatchObject({ code: 1 })
  expect(readdirSync(files)).toEqual(['a.jsonl.part'])
  writeFileSync(join(files, 'a.jsonl.part'), 'torn', { flag: 'a' })
  const secondRun = await run(['backup', ...words, from.url])
  expect(secondRun).toMatchObject({ code: 0, errors: '' })
  expect(secondRun.out.split('\n').slice(0, 2)).toEqual(['a: continues after 12 MB', 'a: 36 MB'])
  expect(from.requests.map((request) => request.split(' ')[1])).toEqual([
    '/backups/a',
    '/backups/a?after=2',
    '/backups/a?after=2',
  ])
  expect(readdirSync(files)).toEqual(['a.jsonl'])
  expect(readFileSync(join(files, 'a.jsonl'), 'utf8') === parts.join('')).toBe(true)
  const copies = new Map<string, string>()
  const to = await edge(copies, [undefined, { status: 500, code: 'internal_error' }])
  expect(await run(['restore', ...words, to.url])).toMatchObject({ code: 1 })
  expect([...copies]).toEqual([])
  expect(await run(['restore', ...words, to.url])).toEqual({
    code: 0,
    out: `a: 24 MB of ${Math.floor(size / 1e6)} MB\na: created\n`,
    errors: '',
  })
  expect(copies.get('a') === parts.join('')).toBe(true)
})

test('the command backup begins a copy again whose conversation has changed', async () => {
  const parts = partsOf('a', 2)
  const { url, requests } = await edge(new Map([['a', parts.join('')]]), [
    12_100_000,
    { status: 409, code: 'conversation_changed' },
  ])
  const files = folder()
  expect(await run(['backup', files, '--conversation', 'a', '--url', url])).toMatchObject({ code: 0 })
  expect(requests.map((request) => request.split(' ')[1])).toEqual(['/backups/a', '/backups/a?after=2', '/backups/a'])
  expect(readFileSync(join(files, 'a.jsonl'), 'utf8') === parts.join('')).toBe(true)
})

test('the command restore refuses a file that lacks parts', async () => {
  const [{ url }, files] = [await edge(new Map()), folder()]
  writeFileSync(join(files, 'a.jsonl'), partsOf('a', 2)[0] ?? '')
  expect(await run(['restore', files, '--url', url])).toMatchObject({
    code: 1,
    errors: expect.stringContaining('a.jsonl has not all parts of its copy.'),
  })
})

test('the command rewind takes a conversation back to a time', async () => {
  const { url, requests } = await edge(new Map())
  expect(await run(['rewind', 'c', '2026-02-28T14:30:00Z', '--url', url])).toEqual({
    code: 0,
    out: 'c: taken back to 2026-02-28T14:30:00Z\n',
    errors: '',
  })
  expect(requests).toEqual(['POST /backups/c/rewind Bearer ek_1'])
})

test('the command backup writes no file outside of its folder, whatever the edge names', async () => {
  for (const id of ['../outside', '..', 'a/b', 'a\u001b[2J']) {
    const { url, requests } = await edge(new Map([[id, copyOf('x')]]))
    const files = folder()
    expect(await run(['backup', join(files, 'in'), '--url', url])).toEqual({
      code: 1,
      out: '',
      errors: `${JSON.stringify(id)} is not the id of a conversation, so it was not copied.\n`,
    })
    expect([readdirSync(files), readdirSync(join(files, 'in'))]).toEqual([['in'], []])
    expect(requests).toHaveLength(1)
  }
})
