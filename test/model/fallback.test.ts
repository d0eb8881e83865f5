import { describe, expect, test } from 'vitest'
import type { ChatModel, ModelError, ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { type FallbackOptions, fallingBack, retrying } from '../../src/model/retry.ts'
import { say, type Script, scripted } from '../fixtures/scripted.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }

const BUSY: ModelError = { code: 'model_unavailable', message: 'Busy.', retryable: true }

const failing = (error: Partial<ModelError> = {}): readonly ModelEvent[] => [
  { type: 'error', error: { ...BUSY, ...error } },
]

async function gather(model: ChatModel, signal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(REQUEST, signal)) events.push(event)
  return events
}

/** What comes of three models that answer so, and which of them were asked. */
async function play(scripts: readonly [Script, Script, Script], options?: FallbackOptions) {
  const [first, second, third] = scripts
  const models = [
    scripted([first], 'scripted/first'),
    scripted([second], 'scripted/second'),
    scripted([third], 'scripted/third'),
  ] as const
  const model = fallingBack([...models], options)
  return { name: model.name, events: await gather(model), requestCounts: models.map(({ requests }) => requests.length) }
}

test('a model that fails before its first event is replaced by the next', async () => {
  expect(await play([failing(), failing({ code: 'model_unauthorized', retryable: false }), say('Here.')])).toEqual({
    name: 'scripted/first',
    events: say('Here.'),
    requestCounts: [1, 1, 1],
  })
})

test('the other models are not called while the first one answers', async () => {
  expect(await play([say('Here.'), say('No.'), say('No.')])).toMatchObject({
    events: say('Here.'),
    requestCounts: [1, 0, 0],
  })
})

test('after an answer that broke off, the next model is asked first, and those before it last', async () => {
  const models = ['first', 'second'].map((name) => scripted([failing(), failing()], `scripted/${name}`))
  const [first, second] = models
  if (!first || !second) throw new Error('There are two')
  const names: string[] = []
  const noting = (model: ChatModel): ChatModel => ({
    ...model,
    stream: (...request) => {
      names.push(model.name)
      return model.stream(...request)
    },
  })
  const model = fallingBack([noting(first), noting(second)])
  for (const cuts of [1, 2]) {
    for await (const _ of model.stream({ ...REQUEST, cuts }, new AbortController().signal)) continue
  }
  expect(names).toEqual(['scripted/second', 'scripted/first', 'scripted/first', 'scripted/second'])
})

test('the error of the last model is returned if all are overloaded', async () => {
  expect(await play([failing(), failing(), failing({ message: 'All busy.' })])).toMatchObject({
    events: failing({ message: 'All busy.' }),
    requestCounts: [1, 1, 1],
  })
})

describe('if all models fail, the error is returned', () => {
  const REFUSAL = { code: 'model_unauthorized', message: 'Wrong key.', retryable: false }
  const LONG = { code: 'model_rate_limited', message: 'Tomorrow.', retryAfterMs: 86_400_000 }
  const TOO_LONG = { code: 'model_context_exceeded', message: 'Too long.', retryable: false, overflow: {} }

  test.each<[string, readonly [Partial<ModelError>, Partial<ModelError>, Partial<ModelError>], string]>([
    ['of one that is overloaded, not of one that refuses its key', [{}, REFUSAL, REFUSAL], 'Busy.'],
    ['of one whose answer broke off at once', [{ code: 'model_stream_cut', message: 'Cut.' }, REFUSAL, LONG], 'Cut.'],
    [
      'of the one that asks for the shortest wait',
      [LONG, { retryAfterMs: 1000, message: 'A second.' }, LONG],
      'A second.',
    ],
    ['of one for which a shorter prompt is enough', [{}, TOO_LONG, REFUSAL], 'Too long.'],
    [
      'of the last one, if no wait helps',
      [{ code: 'model_timeout' }, { code: 'model_bad_response' }, REFUSAL],
      'Wrong key.',
    ],
  ])('%s', async (_, [first, second, third], message) => {
    const { events, requestCounts } = await play([failing(first), failing(second), failing(third)])
    expect([events, requestCounts]).toEqual([
      [expect.objectContaining({ type: 'error', error: expect.objectContaining({ message }) })],
      [1, 1, 1],
    ])
  })

  test('also if the next model refuses the request for its content, and every failure is recorded', async () => {
    const refusal = failing({ code: 'model_refused_request', message: 'No.', retryable: false })
    const model = fallingBack([scripted([failing()]), scripted([refusal]), scripted([say('Never.')])])
    const messages: string[] = []
    const stream = model.stream(REQUEST, new AbortController().signal, ({ message }) => void messages.push(message))
    const events: ModelEvent[] = []
    for await (const event of stream) events.push(event)
    expect([events, messages]).toEqual([failing(), ['Busy.', 'No.']])
  })
})

test('no model repeats what an earlier one has emitted', async () => {
  const cut = [...say('It is ').slice(0, 1), ...failing({ code: 'model_stream_cut' })]
  expect(await play([cut, say('No.'), say('No.')])).toMatchObject({ events: cut, requestCounts: [1, 0, 0] })
})

test('a request that is refused for its content is not sent to the next model, unless the setup says so', async () => {
  const refusal = failing({ code: 'model_refused_request', retryable: false })
  expect(await play([refusal, say('No.'), say('No.')])).toMatchObject({ events: refusal, requestCounts: [1, 0, 0] })
  const always = { after: () => true }
  expect(await play([refusal, say('Here.'), say('No.')], always)).toMatchObject({
    events: say('Here.'),
    requestCounts: [1, 1, 0],
  })
})

test('no model is called for a caller that has disconnected', async () => {
  const leave = new AbortController()
  const second = scripted([say('No.')])
  const first = scripted([
    async function* () {
      leave.abort()
      yield* failing()
    },
  ])
  await gather(fallingBack([first, second]), leave.signal)
  expect(second.requests).toEqual([])
})

test('each model may have its own retries', async () => {
  const sleep = () => Promise.resolve()
  const first = scripted([failing(), failing(), failing()])
  const second = scripted([failing(), say('Here.')])
  const model = fallingBack([retrying(first, { sleep }), retrying(second, { sleep })])
  expect(await gather(model)).toEqual(say('Here.'))
  expect([first.requests.length, second.requests.length]).toEqual([3, 2])
})

test('a list of models has the capabilities that all of them have', () => {
  const all = {
    tools: true,
    parallelCalls: true,
    singleCalls: true,
    toolChoice: true,
    streamedArguments: true,
    imagesInResults: true,
    structuredOutput: true,
    imageUrls: true,
    fileUrls: true,
  }
  const can = (capabilities: Partial<typeof all>): ChatModel => ({
    ...scripted([]),
    capabilities: { ...all, ...capabilities },
  })
  const silentModel = scripted([])
  expect(fallingBack([can({ singleCalls: false }), silentModel, can({ imagesInResults: false })]).capabilities).toEqual(
    {
      ...all,
      singleCalls: false,
      imagesInResults: false,
    },
  )
  expect(fallingBack([silentModel, can({})]).capabilities).toBeUndefined()
})
