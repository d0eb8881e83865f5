import { describe, expect, onTestFinished, test } from 'vitest'
import { isObject } from '../../src/contract/json.ts'
import type { Message } from '../../src/contract/message.ts'
import type { ChatModel } from '../../src/contract/model.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { gemini } from '../../src/model/gemini.ts'
import { openai, responses } from '../../src/model/openai.ts'
import { chunksOf, type ModelReply, startModelServer } from '../fixtures/model-server.ts'
import { play, type Played } from '../fixtures/play.ts'

const BAD = 'BADBADBADBADBADB'
const EXPIRED = 'https://files.example.com/expired.png'

/** A provider: how it refuses a part that it names, one that it does not name, and how it says Done. */
interface Provider {
  readonly make: (baseUrl: string) => ChatModel
  readonly done: ModelReply
  readonly refuse: (message: string, path: string) => object
  /** What it says of a part at a place of its body, as the real one does. */
  readonly nameIt: (keys: readonly (string | number)[]) => readonly [message: string, path: string]
  readonly unnamed: string
  /** Whether it fetches files by itself. */
  readonly links: boolean
}

const openAiError = (message: string, param: string) => ({
  error: { message, type: 'invalid_request_error', param: param || null, code: 'invalid_value' },
})

const brackets = (keys: readonly (string | number)[]): string =>
  keys.map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? key : `.${key}`)).join('')

const PROVIDERS: Readonly<Record<string, Provider>> = {
  Anthropic: {
    make: (baseUrl) => anthropic({ baseUrl })('probe'),
    done: { body: { type: 'message', content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' } },
    refuse: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
    nameIt: (keys) => [
      `${keys.slice(0, 4).join('.')}.image.source.base64: image exceeds 5 MB maximum: 6270280 bytes > 5242880 bytes`,
      '',
    ],
    unnamed: 'Could not process image',
    links: true,
  },
  'Chat Completions': {
    make: (baseUrl) => openai({ baseUrl })('probe'),
    done: { chunks: chunksOf({ text: 'Done.' }) },
    refuse: openAiError,
    nameIt: (keys) => ['Invalid base64 image_url.', brackets(keys.slice(0, 4)).replaceAll('[', '.[')],
    unnamed: 'You uploaded an unsupported image. Please make sure your image is valid.',
    links: true,
  },
  Responses: {
    make: (baseUrl) => responses({ baseUrl })('probe'),
    done: {
      body: {
        object: 'response',
        status: 'completed',
        output: [{ type: 'message', content: [{ type: 'output_text', text: 'Done.' }] }],
      },
    },
    refuse: openAiError,
    nameIt: (keys) => [
      `Invalid '${brackets(keys)}'. Expected a base64-encoded data URL with an image MIME type.`,
      brackets(keys),
    ],
    unnamed: 'The image data you provided does not represent a valid image.',
    links: true,
  },
  Gemini: {
    make: (baseUrl) => gemini({ baseUrl })('probe'),
    done: { body: { candidates: [{ content: { parts: [{ text: 'Done.' }] }, finishReason: 'STOP' }] } },
    refuse: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
    nameIt: (keys) => [
      `* GenerateContentRequest.${brackets(keys.slice(0, 4))}.inline_data.mime_type: MIME type must be image/png.`,
      '',
    ],
    unnamed: 'Request contains an invalid argument.',
    links: false,
  },
}

/** Returns the keys that lead to a text in a body. */
function keysTo(body: unknown, text: string): (string | number)[] | undefined {
  if (typeof body === 'string') return body.includes(text) ? [] : undefined
  if (!isObject(body) && !Array.isArray(body)) return undefined
  for (const [key, value] of Object.entries(body)) {
    const keys = keysTo(value, text)
    if (keys) return [Array.isArray(body) ? Number(key) : key, ...keys]
  }
  return undefined
}

/** Plays a run with a model whose server refuses what `refusal` says of a body. */
async function playWith(
  { make, done, refuse }: Provider,
  input: readonly Message[],
  refusal: (body: unknown) => readonly [message: string, path: string] | undefined,
  status = 400,
) {
  const server = await startModelServer(({ body }) => {
    const words = refusal(body)
    return words ? { status, body: refuse(...words) } : done
  })
  onTestFinished(() => server.close())
  const model = make(server.baseUrl)
  const script = Array.from({ length: 8 }, () => model.stream.bind(model))
  const played = await play({ script, request: { input } })
  return { ...played, bodies: server.calls.map(({ body }) => body) }
}

const picture = (data: string) => ({ type: 'image', mediaType: 'image/png', data }) as const
const restarts = ({ events }: Played) => events.filter(({ type }) => type === 'step.restarted')

describe.each(Object.entries(PROVIDERS))('with %s, a file that the server refuses', (_, provider) => {
  const about = (body: unknown, text: string) => {
    const keys = keysTo(body, text)
    return keys && provider.nameIt(keys)
  }
  const question = (data: string): Message => ({
    role: 'user',
    content: [{ type: 'text', text: `What is in ${data.slice(0, 3)}?` }, picture('GOODGOODGOODGOOD'), picture(data)],
  })

  test('and names is left out, with a note in its place, and the run continues', async () => {
    const input = [question('FINEFINEFINEFINE'), { role: 'assistant', content: 'A cat.' } as const, question(BAD)]
    const played = await playWith(provider, input, (body) => about(body, BAD))
    expect(played.state.finished).toMatchObject({ status: 'completed', answer: 'Done.' })
    const reason = played.bodies[0] && about(played.bodies[0], BAD)?.[0]
    expect(restarts(played)).toEqual([
      expect.objectContaining({
        because: 'item_refused',
        refusals: [{ position: 2, part: 2, size: BAD.length, model: 'test/scripted', reason }],
      }),
    ])
    expect(played.bodies).toHaveLength(2)
    const [, body] = played.bodies.map((each) => JSON.stringify(each))
    expect(body).toContain('left out, since the server of the model refused it')
    for (const text of ['What is in BAD?', 'What is in FIN?', 'FINEFINEFINEFINE', 'GOODGOODGOODGOOD'])
      expect(body).toContain(text)
    expect(body).not.toContain(BAD)
  })

  test('and does not name is found by a few questions about halves of them', async () => {
    const pictures = ['P1P1', 'P2P2', 'P3P3', BAD, 'P5P5', 'P6P6', 'P7P7'].map((data) => picture(data.padEnd(16, data)))
    const input: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: 'Compare.' }, ...pictures] }]
    const played = await playWith(provider, input, (body) => (keysTo(body, BAD) ? [provider.unnamed, ''] : undefined))
    expect(played.state.finished).toMatchObject({ status: 'completed', answer: 'Done.' })
    expect(restarts(played)).toMatchObject([{ refusals: [{ position: 0, part: 4 }] }])
    // The request, at most four questions, and the request again.
    expect(played.bodies.length).toBeLessThanOrEqual(6)
    const last = JSON.stringify(played.bodies.at(-1))
    expect(last).toContain('Compare.')
    for (const { data } of pictures) expect(last.includes(data)).toBe(!data.startsWith(BAD))
  })

  test.runIf(provider.links)('as a link is left out like one that is at hand', async () => {
    const content = [
      { type: 'text', text: 'What is it?' } as const,
      { type: 'image', mediaType: 'image/*', url: EXPIRED } as const,
    ]
    const input: readonly Message[] = [{ role: 'user', content }]
    const played = await playWith(provider, input, (body) =>
      JSON.stringify(body).includes(`"${EXPIRED}"`) ? [`Error while downloading ${EXPIRED}.`, 'url'] : undefined,
    )
    expect(played.state.finished).toMatchObject({ status: 'completed' })
    expect(played.bodies).toHaveLength(2)
  })

  test('neither makes texts be left out nor the model be asked without end', async () => {
    const text = [{ role: 'user', content: 'Only text.' } as const]
    const none = await playWith(provider, text, (body) => provider.nameIt(keysTo(body, 'Only text.') ?? []))
    expect(none.state.finished).toMatchObject({ status: 'failed', error: { code: 'model_refused_request' } })
    expect(none.bodies).toHaveLength(1)
    const stubborn = await playWith(provider, [question(BAD)], (body) => about(body, 'BAD?') && [provider.unnamed, ''])
    expect(stubborn.state.finished).toMatchObject({ status: 'failed', error: { code: 'model_refused_request' } })
    expect(stubborn.bodies.length).toBeLessThan(12)
  })
})

test.each([
  'A maximum of 100 PDF pages may be provided.',
  'This URL is disallowed by the website’s robots.txt file.',
  'Image does not match the provided media type image/jpeg',
  'Unable to submit request because it has a mimeType parameter with value application/zip, which is not supported.',
  'Base64 decoding failed for "xx"',
  'cannot identify image file <_io.BytesIO object at 0x7f>',
  'At most 1 image(s) may be provided in one request.',
  'Bad Request',
  'Unprocessable Entity',
])('a file is left out that a server refuses with “%s”', async (words) => {
  const { 'Chat Completions': provider = expect.unreachable('no provider') } = PROVIDERS
  const input: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture(BAD)] }]
  const played = await playWith(provider, input, (body) => (keysTo(body, BAD) ? [words, ''] : undefined))
  expect(played.state.finished).toMatchObject({ status: 'completed', answer: 'Done.' })
  expect(restarts(played)).toMatchObject([{ refusals: [{ position: 0, part: 1 }] }])
})

test.each([400, 415, 422])('a file is left out that a server refuses with %i and no words', async (status) => {
  const { 'Chat Completions': provider = expect.unreachable('no provider') } = PROVIDERS
  const server = await startModelServer(({ body }) => (keysTo(body, BAD) ? { status, body: {} } : provider.done))
  onTestFinished(() => server.close())
  const model = provider.make(server.baseUrl)
  const script = Array.from({ length: 8 }, () => model.stream.bind(model))
  const input: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture(BAD)] }]
  const { state } = await play({ script, request: { input } })
  expect(state.finished).toMatchObject({ status: 'completed', answer: 'Done.' })
})

describe('earlier reasoning that the server refuses is left out', () => {
  test('of Anthropic, by its place', async () => {
    const opaque = (signature: string) => ({
      codec: 'anthropic',
      data: [{ type: 'thinking', thinking: 'Hm.', signature }, 5],
    })
    const input: readonly Message[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello', opaque: opaque('SIGNATURE-ONE-1') },
      { role: 'user', content: 'And?' },
      { role: 'assistant', content: 'Well.', opaque: opaque('SIGNATURE-TWO-2') },
      { role: 'user', content: 'Go on.' },
    ]
    const { Anthropic = expect.unreachable('no provider') } = PROVIDERS
    const played = await playWith(Anthropic, input, (body) =>
      keysTo(body, 'SIGNATURE-TWO-2')
        ? ['messages.3.content.0: Invalid `signature` in `thinking` block', '']
        : undefined,
    )
    expect(played.state.finished).toMatchObject({ status: 'completed' })
    expect(restarts(played)).toMatchObject([{ refusals: [{ position: 3, part: 'opaque' }] }])
    const [, body] = played.bodies.map((each) => JSON.stringify(each))
    expect(body).toContain('SIGNATURE-ONE-1')
    expect(body).toContain('Well.')
  })

  test('of Responses, by its id, or all of it if none is named', async () => {
    const opaque = (id: string) => ({
      codec: 'openai-responses',
      data: [
        { reasoning: { type: 'reasoning', id, summary: [], encrypted_content: `gAAA-${id}-content` } },
        { text: 5 },
      ],
    })
    const input: readonly Message[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello', opaque: opaque('rs_1111111111') },
      { role: 'user', content: 'And?' },
      { role: 'assistant', content: 'Well.', opaque: opaque('rs_2222222222') },
      { role: 'user', content: 'Go on.' },
    ]
    const { Responses = expect.unreachable('no provider') } = PROVIDERS
    const words = 'could not be verified. Reason: Encrypted content could not be decrypted or parsed.'
    const first = await playWith(Responses, input, (body) =>
      keysTo(body, 'rs_2222222222') ? [`The encrypted content for item rs_2222222222 ${words}`, ''] : undefined,
    )
    expect(restarts(first)).toMatchObject([{ refusals: [{ position: 3, part: 'opaque' }] }])
    const second = await playWith(Responses, input, (body) =>
      keysTo(body, 'rs_2222222222') ? [`The encrypted content ${words}`, ''] : undefined,
    )
    expect(restarts(second)).toMatchObject([{ refusals: [{ position: 1 }, { position: 3 }] }])
    for (const [words, position, status] of [
      ["Item 'rs_2222222222' of type 'reasoning' was provided without its required following item.", 3, 400],
      ["Item with id 'rs_1111111111' not found. Items are not persisted when `store` is set to false.", 1, 404],
    ] as const) {
      const id = position === 3 ? 'rs_2222222222' : 'rs_1111111111'
      const played = await playWith(
        Responses,
        input,
        (body) => (keysTo(body, id) ? [words, 'input'] : undefined),
        status,
      )
      expect(restarts(played)).toMatchObject([{ refusals: [{ position, part: 'opaque' }] }])
      expect(played.state.finished?.status).toBe('completed')
    }
    expect([first, second].map(({ state, bodies }) => [state.finished?.status, bodies.length])).toEqual([
      ['completed', 2],
      ['completed', 2],
    ])
  })
})
