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

/** An edge that has these conversations, in pages of two. */
async function edge(copies: Map<string, string>): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://edge')
    requests.push(`${request.method} ${pathname} ${request.headers.authorization}`)
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
    if (request.method === 'GET')
      return copies.has(id) ? response.end(copies.get(id)) : json(404, { detail: 'No such.' })
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
  const copies = new Map(['a', 'b', 'c'].map((id) => [id, `copy of ${id}\n`]))
  const present = new Map([['b', 'its own\n']])
  const [from, to, files] = [await edge(copies), await edge(present), folder()]
  const backup = await run(['backup', files, '--url', from.url])
  expect(backup).toMatchObject({ code: 0, errors: '' })
  expect(backup.out).toMatch(/\n3 conversations copied to .*\n$/)
  expect(readdirSync(files)).toEqual(['a.jsonl', 'b.jsonl', 'c.jsonl'])
  expect(readFileSync(join(files, 'a.jsonl'), 'utf8')).toBe('copy of a\n')
  expect(await run(['restore', files, '--url', to.url])).toEqual({
    code: 0,
    out: 'a: created\nb: is there already\nc: created as your own, since this edge has not signed the copy\n',
    errors: '',
  })
  expect([...present]).toEqual([
    ['b', 'its own\n'],
    ['a', 'copy of a\n'],
    ['c', 'copy of c\n'],
  ])
  expect(to.requests).toEqual(['a', 'b', 'c'].map((id) => `PUT /backups/${id} Bearer ek_1`))
})

test('the commands backup and restore take one conversation, and name the one that the edge refuses', async () => {
  const [{ url, requests }, files] = [await edge(new Map([['a', 'x']])), folder()]
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
    const { url, requests } = await edge(new Map([[id, 'copy\n']]))
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
