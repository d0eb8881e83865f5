import { afterEach, expect, test, vi } from 'vitest'
import type { BackupReply, CopyPlace } from '../../src/contract/backup.ts'
import type { Reply } from '../../src/contract/conversation.ts'
import { say } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

afterEach(() => void vi.unstubAllGlobals())

const LONG = 'Ω'.repeat(400_000)

/** An edge with a conversation whose copy has about 12 MB, in parts of 4 MiB. */
async function longTalk(): Promise<KeptEdge> {
  const edge = keptEdge({ script: Array.from({ length: 15 }, () => say('Read.')) })
  await edge.post('/conversations', { id: 'c' })
  for (let count = 0; count < 15; count++) await edge.post('/conversations/c/runs', { input: `${count} ${LONG}` })
  return edge
}

test('a copy is made no faster than it is read', async () => {
  const edge = await longTalk()
  const [object] = edge.objects.values()
  if (!object) throw new Error('There is no conversation')
  const parts = vi.spyOn(object, 'backup')
  const { body } = await edge.fetch('/backups/c')
  const counts = []
  for await (const piece of body ?? []) {
    for (let turn = 0; turn < 100; turn++) await Promise.resolve()
    if (piece.byteLength > 100_000) counts.push(parts.mock.calls.length)
  }
  const all = counts.length
  expect(all).toBeGreaterThan(2)
  // One part is on its way while the one before it is read.
  expect(counts.map((count, index) => count - index <= 2)).toEqual(counts.map(() => true))
})

test('the object gives the memory of each part back once workerd has passed it on', async () => {
  const edge = await longTalk()
  const expected = await (await edge.fetch('/backups/c')).text()
  const pieces: Uint8Array[] = []
  // As in workerd, which copies what is written.
  class Identity extends TransformStream<Uint8Array, Uint8Array> {
    constructor() {
      super({
        transform: (piece, controller) => {
          pieces.push(piece)
          controller.enqueue(piece.slice())
        },
      })
    }
  }
  const [object] = edge.objects.values()
  if (!object) throw new Error('There is no conversation')
  vi.stubGlobal('IdentityTransformStream', Identity)
  let copy = ''
  for (let from: CopyPlace | 'start' | undefined = 'start'; from;) {
    const reply: Reply<BackupReply> = await object.backup({ do: 'copy', from, subject: { tenant: 'acme', id: 'c' } })
    if (!reply.ok) throw new Error(reply.message)
    copy += await new Response(reply.stream).text()
    expect(pieces.map(({ buffer }) => 'detached' in buffer && buffer.detached)).toEqual(pieces.map(() => true))
    from = reply.next
  }
  const withoutMark = (text: string) => text.replaceAll(/,"(?:next|signature)":"[^"]*"/g, '')
  expect(withoutMark(copy) === withoutMark(expected)).toBe(true)
  expect(pieces.length).toBeGreaterThan(5)
})

test('an edge signs what an object of an earlier version has copied', async () => {
  const copySigner = { sign: async (text: string) => `of ${text}`, isSigned: async () => true }
  const edge = keptEdge({ script: [], setup: { copySigner } })
  await edge.post('/conversations', { id: 'c' })
  const expected = await (await edge.fetch('/backups/c')).text()
  const [object] = edge.objects.values()
  if (!object) throw new Error('There is no conversation')
  const { copy } = (await object.backup({ do: 'copy' })) as BackupReply
  vi.spyOn(object, 'backup').mockResolvedValue({ ok: true, ...(copy && { copy }) })
  expect(expected).toMatch(/"signature":"of local [\da-f]{64}"\}\n$/)
  expect(await (await edge.fetch('/backups/c')).text()).toBe(expected)
})

test('a fork whose messages could not all be copied is removed', async () => {
  const edge = keptEdge({ script: [say('Hello.')] })
  await edge.post('/conversations', { id: 'c' })
  await edge.post('/conversations/c/runs', { input: 'Hi' })
  const messages = (await (await edge.fetch('/conversations/c/messages')).json()) as { position: number }[]
  const [object] = edge.objects.values()
  if (!object) throw new Error('There is no conversation')
  const original = object.messages.bind(object)
  vi.spyOn(object, 'messages').mockImplementation((request) => {
    if (request.fullResults) throw new Error('Network connection lost.')
    return original(request)
  })
  const fork = await edge.post('/conversations/c/fork', { id: 'fork', at: messages.at(-1)?.position })
  expect(fork.status).toBeGreaterThanOrEqual(500)
  expect(await (await edge.fetch('/conversations')).json()).toEqual([{ id: 'c' }])
  expect((await edge.fetch('/conversations/fork/messages')).status).not.toBe(200)
})
