import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../../src/contract/model.ts'
import { anthropicAnswers } from '../../../src/wire/provider/anthropic/codec.ts'
import { geminiAnswers } from '../../../src/wire/provider/gemini/answer.ts'
import type { AnswerCodec } from '../../../src/wire/provider/model-answer.ts'
import { chatCodec } from '../../../src/wire/provider/openai-chat/answer.ts'
import { responsesAnswers } from '../../../src/wire/provider/openai-responses/answer.ts'
import { inPieces, replay } from '../../fixtures/replay.ts'
import { call, first, more, text } from '../model-events.ts'

const OSLO = '{"place":"Oslo"}'
const ROME = '{"place":"Rome"}'

interface Format {
  readonly codec: AnswerCodec
  /** The chunks of an answer: some text, and then these fragments of the arguments of one call. */
  readonly answer: (fragments: readonly string[]) => readonly object[]
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
})
const piece = (args: unknown, rest: object = {}, index: number | undefined = 0) =>
  chunk({ tool_calls: [{ index, ...rest, function: { arguments: args, ...rest } }] })

const FORMATS: Readonly<Record<string, Format>> = {
  'Chat Completions': {
    codec: chatCodec('openai-chat/test'),
    answer: ([initial = '', ...fragments]) => [
      chunk({ role: 'assistant', content: 'I look.' }),
      piece(initial, { id: 'call_a', name: 'weather' }),
      ...fragments.map((fragment) => piece(fragment)),
      chunk({}, 'tool_calls'),
    ],
  },
  Messages: {
    codec: anthropicAnswers,
    answer: (fragments) => [
      { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I look.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'a', name: 'weather', input: {} },
      },
      ...fragments.map((fragment) => ({
        type: 'content_block_delta',
        index: 1,
        delta: { type: 'input_json_delta', partial_json: fragment },
      })),
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ],
  },
  Responses: {
    codec: responsesAnswers,
    answer: (fragments) => [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'msg_1' } },
      { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', delta: 'I look.' },
      {
        type: 'response.output_item.added',
        output_index: 1,
        item: { type: 'function_call', id: 'fc_1', call_id: 'call_a', name: 'weather', arguments: '' },
      },
      ...fragments.map((delta) => ({
        type: 'response.function_call_arguments.delta',
        output_index: 1,
        item_id: 'fc_1',
        delta,
      })),
      {
        type: 'response.output_item.done',
        output_index: 1,
        item: { type: 'function_call', id: 'fc_1', call_id: 'call_a', name: 'weather', arguments: OSLO },
      },
      { type: 'response.completed', response: { status: 'completed', output: [] } },
    ],
  },
}

const WEATHER_CALL = [call(0, 'weather', OSLO), expect.objectContaining({ type: 'finish', finish: 'tool_calls' })]

function read(codec: AnswerCodec, body: string, size?: number): Promise<ModelEvent[]> {
  return replay(inPieces(new TextEncoder().encode(body), size), codec)
}

const asEvents = (chunks: readonly object[]) => chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')

/** How servers and gateways have framed an answer. */
const FRAMINGS: Readonly<Record<string, (chunks: readonly object[]) => string>> = {
  'JSON on each line': (chunks) => chunks.map((each) => `${JSON.stringify(each)}\n`).join(''),
  'JSON on each line, without the last line break': (chunks) => chunks.map((each) => JSON.stringify(each)).join('\n'),
  'no empty line between frames': (chunks) => chunks.map((each) => `data: ${JSON.stringify(each)}\n`).join(''),
  'types, and no empty line between frames': (chunks) =>
    chunks.map((each) => `event: message\ndata: ${JSON.stringify(each)}\n`).join(''),
  'carriage returns alone': (chunks) => asEvents(chunks).replaceAll('\n', '\r'),
  'a byte order mark': (chunks) => `\uFEFF${asEvents(chunks)}`,
  'comments as data': (chunks) =>
    chunks
      .map((each) => `data: : keep-alive\n\ndata: : OPENROUTER PROCESSING\n\n${asEvents([each])}`)
      .join(': OPENROUTER PROCESSING\n\n'),
  'pings that are no JSON': (chunks) =>
    chunks.map((each) => `event: ping\ndata: ping\n\n${asEvents([each])}data: heartbeat\n\n`).join(''),
  'the name of the field twice': (chunks) => asEvents(chunks).replaceAll('data: ', 'data: data: '),
  'several chunks in one frame': (chunks) => `data: ${chunks.map((each) => JSON.stringify(each)).join('')}\n\n`,
  'several chunks, and no line break at all': (chunks) => chunks.map((each) => JSON.stringify(each)).join(''),
  'JSON in many lines': (chunks) => chunks.map((each) => `data: ${JSON.stringify(each, null, 2)}\n\n`).join(''),
}

describe.each(Object.entries(FORMATS))('%s', (_, { codec, answer }) => {
  const FRAGMENTS = ['{"place":', '"Oslo"}']
  const EVENTS = [text('I look.'), first(0, 'weather'), more(0, '{"place":'), more(0, '"Oslo"}'), ...WEATHER_CALL]

  describe.each(Object.entries(FRAMINGS))('with %s', (_framing, frame) => {
    test.each([undefined, 1, 7, 97])('has the same events, in pieces of %s bytes', async (size) => {
      expect(await read(codec, frame(answer(['', ...FRAGMENTS])), size)).toEqual(EVENTS)
    })
  })

  test.each([
    ['`{}` before the whole', ['{}', OSLO], [more(0, OSLO)]],
    ['`{}` before fragments', ['{}', ...FRAGMENTS], FRAGMENTS.map((each) => more(0, each))],
    ['`{}` twice', ['{}', '{}', OSLO], [more(0, OSLO)]],
    ['the whole twice', ['', OSLO, OSLO], [more(0, OSLO)]],
    [
      'the whole after fragments, with other blanks',
      ['', ...FRAGMENTS, '{ "place": "Oslo" }'],
      FRAGMENTS.map((each) => more(0, each)),
    ],
    [
      'all so far in each fragment',
      ['', '{', '{"pl', '{"place":"Os', '{"place":"Os', OSLO, OSLO],
      ['{', '"pl', 'ace":"Os', 'lo"}'].map((each) => more(0, each)),
    ],
  ])('takes arguments that come as %s', async (_arguments, fragments, shown) => {
    expect(await read(codec, asEvents(answer(fragments)))).toEqual([
      text('I look.'),
      first(0, 'weather'),
      ...shown,
      ...WEATHER_CALL,
    ])
  })

  test('takes an object in an object of the same name for what it is', async () => {
    const nested = ['', '{"place":', '{"place":"Oslo"}', '}']
    const events = await read(codec, asEvents(answer(nested)))
    expect(events.filter(({ type }) => type === 'call.delta')).toEqual([
      first(0, 'weather'),
      ...nested.slice(1).map((each) => more(0, each)),
    ])
  })

  test('reports an error that comes as a frame with status 200', async () => {
    const error = { error: { message: 'The engine is busy.', code: 503 } }
    const expected = {
      type: 'error',
      error: { code: 'model_unavailable', message: 'The engine is busy.', status: 503, retryable: true },
    }
    const beginning = answer(['']).slice(0, 3)
    for (const body of [
      `${asEvents(beginning)}data: ${JSON.stringify(error)}\n\ndata: [DONE]\n\n`,
      `${asEvents(beginning)}${JSON.stringify(error, null, 2)}\n`,
      `${asEvents(beginning)}event: error\ndata: ${JSON.stringify(error)}\n`,
    ])
      expect((await read(codec, body)).at(-1)).toEqual(expected)
  })

  test('has a call without arguments as one with `{}`', async () => {
    const chunks = JSON.parse(JSON.stringify(answer(['{}'])).replaceAll(JSON.stringify(OSLO), '"{}"'))
    expect(await read(codec, asEvents(chunks))).toEqual([
      text('I look.'),
      first(0, 'weather'),
      more(0, '{}'),
      call(0, 'weather', '{}'),
      WEATHER_CALL[1],
    ])
  })
})

test('Responses has the arguments of a call that are an object', async () => {
  const item = `{"type":"function_call","id":"fc_1","call_id":"a","name":"weather","arguments":{"place":"Oslo"}}`
  const body = `data: {"type":"response.completed","response":{"status":"completed","output":[${item}]}}\n\n`
  expect(await read(responsesAnswers, body)).toEqual([first(0, 'weather', OSLO), ...WEATHER_CALL])
})

describe('Chat Completions', () => {
  const codec = chatCodec('openai-chat/test')

  test('keeps parallel calls apart whose indexes are texts', async () => {
    const chunks = [
      piece('', { id: 'a', name: 'weather' }),
      piece('', { id: 'b', name: 'weather' }, 1),
      piece(OSLO),
      piece(ROME, {}, 1),
      chunk({}, 'stop'),
    ]
    const body = asEvents(chunks).replaceAll(/("tool_calls":\[\{"index":)(\d)/g, '$1"$2"')
    const events = await read(codec, `${body}data: [done]\n\n`)
    expect(events.filter(({ type }) => type === 'call')).toEqual([call(0, 'weather', OSLO), call(1, 'weather', ROME)])
  })

  test('keeps parallel calls apart whose arguments come after `{}`', async () => {
    const events = await read(
      codec,
      asEvents([
        piece('{}', { id: 'a', name: 'weather' }),
        piece('{}', { id: 'b', name: 'weather' }, 1),
        piece(OSLO),
        piece(ROME, {}, 1),
        chunk({}, 'stop'),
      ]),
    )
    expect(events).toEqual([
      first(0, 'weather'),
      first(1, 'weather'),
      more(0, OSLO),
      more(1, ROME),
      call(0, 'weather', OSLO),
      call(1, 'weather', ROME),
      WEATHER_CALL[1],
    ])
  })

  test('takes a call in the chunk that says `stop`, with an object as its arguments and no `[DONE]`', async () => {
    const calls = [{ function: { name: 'weather', arguments: { place: 'Oslo' } } }]
    expect(await read(codec, asEvents([chunk({ tool_calls: calls }, 'stop')]))).toEqual([
      first(0, 'weather', OSLO),
      ...WEATHER_CALL,
    ])
  })

  test('takes a whole answer in an event stream, with the mark of the end behind it', async () => {
    const completion = {
      object: 'chat.completion',
      choices: [{ message: { content: 'Noon.' }, finish_reason: 'stop' }],
    }
    const events = [text('Noon.'), expect.objectContaining({ type: 'finish', finish: 'stop' })]
    for (const end of ['data: [DONE]\n\n', '\n\ndata: [DONE]\n\n', '\n[DONE]'])
      expect(await read(codec, JSON.stringify(completion) + end)).toEqual(events)
    expect(await read(codec, `\n   \n${JSON.stringify(completion, null, 2)}`)).toEqual(events)
  })
})

describe('Responses', () => {
  const item = (place: string) => ({ type: 'function_call', id: 'fc_0', call_id: place, name: 'weather' })
  const done = (place: string) => ({ ...item(place), arguments: JSON.stringify({ place }) })
  const completed = (output: readonly object[]) => ({ type: 'response.completed', response: { output } })
  const both = [call(0, 'weather', OSLO), call(1, 'weather', ROME), WEATHER_CALL[1]]

  test('keeps calls apart whose items have the same id', async () => {
    const streamed = ['Oslo', 'Rome'].flatMap((place, output_index) => [
      { type: 'response.output_item.added', output_index, item: item(place) },
      { type: 'response.output_item.done', output_index, item: done(place) },
    ])
    const output = [done('Oslo'), done('Rome')]
    for (const chunks of [[...streamed, completed(output)], [completed(output)]]) {
      const events = await read(responsesAnswers, asEvents(chunks))
      expect(events.filter(({ type }) => type !== 'call.delta')).toEqual(both)
    }
  })

  test('takes the deltas of arguments whose complete item says `{}`', async () => {
    const chunks = [
      { type: 'response.output_item.added', output_index: 0, item: item('Oslo') },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_0', delta: OSLO },
      { type: 'response.output_item.done', output_index: 0, item: { ...item('Oslo'), arguments: '{}' } },
      completed([]),
    ]
    expect(await read(responsesAnswers, asEvents(chunks))).toEqual([
      first(0, 'weather'),
      more(0, OSLO),
      ...WEATHER_CALL,
    ])
  })

  test('takes arguments that only the event of their end has', async () => {
    const chunks = [
      { type: 'response.output_item.added', output_index: 0, item: item('Oslo') },
      { type: 'response.function_call_arguments.done', item_id: 'fc_0', arguments: OSLO },
      completed([]),
    ]
    expect(await read(responsesAnswers, asEvents(chunks))).toEqual([
      first(0, 'weather'),
      more(0, OSLO),
      ...WEATHER_CALL,
    ])
  })
})

describe('Gemini', () => {
  const parts = (...functionCalls: readonly object[]) => ({
    candidates: [{ content: { parts: functionCalls.map((functionCall) => ({ functionCall })) } }],
  })
  const stop = { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] }
  const weather = (args: unknown, id?: string) => ({ name: 'weather', args, ...(id && { id }) })

  describe.each(Object.entries(FRAMINGS))('with %s', (_framing, frame) => {
    test.each([undefined, 1, 7, 97])('has the same events, in pieces of %s bytes', async (size) => {
      const events = await read(geminiAnswers, frame([parts(weather({ place: 'Oslo' })), stop]), size)
      expect(events).toEqual([first(0, 'weather', OSLO), ...WEATHER_CALL])
    })
  })

  test('takes a call that comes first without its arguments, and then with them', async () => {
    const chunks = [
      parts(weather({}, 'a')),
      parts(weather({}, 'b')),
      parts(weather({ place: 'Oslo' }, 'a'), weather({ place: 'Rome' }, 'b')),
      parts(weather({ place: 'Oslo' }, 'a')),
      stop,
    ]
    expect(await read(geminiAnswers, asEvents(chunks))).toEqual([
      first(0, 'weather'),
      first(1, 'weather'),
      more(0, OSLO),
      call(0, 'weather', OSLO),
      more(1, ROME),
      call(1, 'weather', ROME),
      WEATHER_CALL[1],
    ])
  })

  test('takes arguments that are a text, or left out', async () => {
    const chunks = [parts(weather(OSLO), { name: 'now' }), stop]
    expect(await read(geminiAnswers, asEvents(chunks))).toEqual([
      first(0, 'weather', OSLO),
      first(1, 'now', '{}'),
      call(0, 'weather', OSLO),
      call(1, 'now', '{}'),
      WEATHER_CALL[1],
    ])
  })
})
