import { afterEach, expect, test, vi } from 'vitest'
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

test('workerd gets the memory of each part back once it has passed it on', async () => {
  const edge = await longTalk()
  const expected = await (await edge.fetch('/backups/c')).text()
  const pieces: Uint8Array[] = []
  // As in workerd, which copies what is written.
  class Identity extends TransformStream<Uint8Array, Uint8Array> {
    constructor() {
      super({
        transform: (piece, controller) => {
          expect(pieces.every(({ buffer }) => 'detached' in buffer && buffer.detached)).toBe(true)
          pieces.push(piece)
          controller.enqueue(piece.slice())
        },
      })
    }
  }
  vi.stubGlobal('IdentityTransformStream', Identity)
  const copy = await (await edge.fetch('/backups/c')).text()
  const withoutMark = (text: string) => text.replaceAll(/,"(?:next|signature)":"[^"]*"/g, '')
  expect(withoutMark(copy) === withoutMark(expected)).toBe(true)
  expect(pieces.length).toBeGreaterThan(5)
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
