import { expect } from 'vitest'
import { content } from '../../../src/tool.ts'
import { encodeAnthropicRequest as anthropicRequest } from '../../../src/wire/provider/anthropic/codec.ts'
import { encodeChatRequest as chatRequest } from '../../../src/wire/provider/openai-chat/request.ts'
import { ask, id, play, say, tool } from '../../fixtures/play.ts'
import { different, type Row, same } from '../rows.ts'
import { chat, resultsIn } from '../scene.ts'
import { partsOf, THEIRS } from './scene.ts'

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47])
const IMAGE = { type: 'image', mediaType: 'image/png', data: 'iVBORw==' } as const

/** Rows 42 to 45: results as models get them. */
export const results: readonly Row[] = [
  {
    row: 42,
    says: 'null is told as the text null',
    verdict: same(async () => {
      for (const compat of [undefined, THEIRS]) {
        expect((await partsOf(() => null, {}, compat))?.content).toEqual([{ type: 'text', text: 'null' }])
      }
    }),
  },
  {
    row: 43,
    says: 'an image is a part, no image is null, and a failed one is an error',
    verdict: same(async () => {
      const draw = (value: unknown) => partsOf(() => value)
      expect(await draw(new Blob([PNG], { type: 'image/png' }))).toMatchObject({ ok: true, content: [IMAGE] })
      expect(await draw(content(IMAGE))).toMatchObject({ ok: true, content: [IMAGE] })
      expect(await draw(null)).toMatchObject({ ok: true, content: [{ type: 'text', text: 'null' }] })
      const failed = await partsOf(
        () => {
          throw new Error('No ink')
        },
        {},
        THEIRS,
      )
      expect(failed).toMatchObject({ ok: false, content: [{ type: 'text', text: 'No ink' }] })
    }),
  },
  {
    row: 44,
    says: 'an empty text and a blank one are told as they are',
    verdict: same(async () => {
      for (const text of ['', ' ']) {
        const { requests } = await chat({ script: [ask(['say']), say('ok')], tools: [tool('say', () => text)] })
        expect(resultsIn(requests[1]?.messages)).toEqual([text])
      }
    }),
  },
  {
    row: 45,
    says: 'images and lists of parts reach a model that takes them; one that does not fails the request',
    verdict: different('a provider without images in results is told of them in words', async () => {
      const tools = [tool('draw', () => ({ ok: true, content: [{ type: 'text', text: 'A map:' }, IMAGE] }))]
      const { requests } = await play({ script: [ask(['draw']), say('seen')], tools })
      const request = requests[1] ?? { messages: [], tools: [] }
      expect(JSON.parse(chatRequest('m', request)).messages.at(-1)).toEqual({
        role: 'tool',
        tool_call_id: id(1, 0),
        content: 'A map:\n[image: image/png]',
      })
      expect(
        JSON.parse(anthropicRequest(request, { model: 'm', maxTokens: 100, cache: 'off' })).messages.at(-1).content[0]
          .content,
      ).toEqual([
        { type: 'text', text: 'A map:' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: IMAGE.data } },
      ])
    }),
  },
]
