import { describe, expect, test } from 'vitest'
import type {
  ChatModel,
  ModelCapabilities,
  ModelEvent,
  ModelRequest,
  ResponseFormat,
} from '../../src/contract/model.ts'
import { changesIn, NUMBER_PARTS } from '../fixtures/json-numbers.ts'
import type { Speech } from '../fixtures/model-server.ts'

/**
 * What the model behind a maker does: it says something to its end; its stream breaks off after some text; it refuses
 * the request; or it says a word and then nothing, until the caller leaves.
 */
export type Scene = Speech | 'cut' | 'refused' | 'endless'

/** A model set up for one scene. */
export interface Staged {
  readonly model: ChatModel
  /** The last request as its provider got it; not for models without a provider. */
  readonly lastRequest?: () => unknown
  /** What cannot be in answers of this form, though it can in another form of the same provider. */
  readonly form?: Partial<ModelCapabilities>
  readonly close: () => Promise<void>
}

const REQUEST: ModelRequest = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What time is it in Oslo?' },
  ],
  tools: [
    {
      name: 'clock',
      description: 'Tells the time.',
      inputSchema: { type: 'object', properties: { zone: { type: 'string' } } },
      version: '1',
      hash: 'h',
      annotations: {},
    },
  ],
}

const NEVER = new AbortController().signal

async function gather(model: ChatModel, signal = NEVER, request = REQUEST): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, signal)) events.push(event)
  return events
}

function textOf(events: readonly ModelEvent[], type: 'text' | 'reasoning'): string {
  return events.map((event) => (event.type === type ? event.text : '')).join('')
}

function callsOf(events: readonly ModelEvent[]): ModelEvent[] {
  return events.filter((event) => event.type === 'call')
}

function isEnd({ type }: ModelEvent): boolean {
  return type === 'finish' || type === 'error'
}

/** What a model's codec does, seen from both its ends. */
async function observed({
  model,
  lastRequest,
}: Required<Pick<Staged, 'model' | 'lastRequest'>>): Promise<ModelCapabilities> {
  async function messagesOf(change: Partial<ModelRequest>): Promise<string> {
    await gather(model, NEVER, { ...REQUEST, ...change })
    return JSON.stringify(lastRequest())
  }
  const plain = await messagesOf({})
  const choices = [await messagesOf({ toolChoice: 'auto' }), await messagesOf({ toolChoice: 'required' })]
  choices.push(await messagesOf({ toolChoice: { tool: 'clock' } }))
  const events = await gather(model)
  const deltas = events.filter((event) => event.type === 'call.delta' && event.index === 0 && event.arguments !== '')
  return {
    tools: plain.includes('Tells the time.') && callsOf(events).length > 0,
    parallelCalls: callsOf(events).length === CALLS.length,
    singleCalls: (await messagesOf({ sampling: { parallel_tool_calls: false } })) !== plain,
    toolChoice: new Set(choices).size === choices.length,
    streamedArguments: deltas.length > 1,
    imagesInResults: (await messagesOf({ messages: HISTORY })).includes(IMAGE),
    structuredOutput: (await messagesOf({ responseFormat: FORMAT })).includes('hourOfDay'),
    // What a server fetches by itself shows in no request.
    imageUrls: model.capabilities?.imageUrls ?? false,
    fileUrls: model.capabilities?.fileUrls ?? false,
  }
}

const CALLS = [
  { tool: 'clock', arguments: '{"zone":"Europe/Oslo"}' },
  { tool: 'clock', arguments: '{"zone":"UTC"}' },
]

const IMAGE = 'aGFsZiBwYXN0IHR3ZWx2ZQ=='
const HISTORY: ModelRequest['messages'] = [
  ...REQUEST.messages,
  { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: 'clock', arguments: '{}' }] },
  {
    role: 'tool',
    callId: 'c1',
    tool: 'clock',
    ok: true,
    content: [{ type: 'image', mediaType: 'image/png', data: IMAGE }],
  },
]
const FORMAT: ResponseFormat = {
  type: 'json_schema',
  name: 'time',
  schema: {
    type: 'object',
    properties: { hourOfDay: { type: 'integer' } },
    required: ['hourOfDay'],
    additionalProperties: false,
  },
}

/** What every ChatModel promises. `stage` makes one for a scene, told in its provider's own format. */
export function modelSuite(name: string, stage: (scene: Scene) => Promise<Staged>): void {
  async function play<Result>(scene: Scene, use: (model: ChatModel) => Promise<Result>): Promise<Result> {
    const { model, close } = await stage(scene)
    try {
      return await use(model)
    } finally {
      await close()
    }
  }

  describe(`the model of ${name}`, () => {
    test('emits its text, then the stop reason and the usage', async () => {
      const usage = { inputTokens: 12, outputTokens: 3, cachedInputTokens: 8, reasoningTokens: 1 }
      const events = await play({ text: 'It is noon.', usage }, (model) => gather(model))
      expect(textOf(events, 'text')).toBe('It is noon.')
      const { opaque: _, ...end } = { opaque: undefined, ...events.at(-1) }
      expect(end).toEqual({ type: 'finish', finish: 'stop', usage })
      expect(events.filter(isEnd)).toHaveLength(1)
    })

    test('separates reasoning from text', async () => {
      const events = await play({ reasoning: 'Noon there.', text: 'Noon.' }, (model) => gather(model))
      expect([textOf(events, 'reasoning'), textOf(events, 'text')]).toEqual(['Noon there.', 'Noon.'])
    })

    test('emits each call once, in order, with complete arguments', async () => {
      const events = await play({ text: 'I look.', calls: CALLS }, (model) => gather(model))
      expect(callsOf(events)).toEqual(CALLS.map((call, index) => ({ type: 'call', index, ...call })))
      expect(textOf(events, 'text')).toBe('I look.')
      expect(events.at(-1)).toMatchObject({ type: 'finish', finish: 'tool_calls' })
      for (const [index, call] of CALLS.entries()) {
        const deltas = events.filter((event) => event.type === 'call.delta' && event.index === index)
        expect(deltas.map((delta) => ('arguments' in delta ? delta.arguments : '')).join('')).toBe(call.arguments)
      }
    })

    test('changes no number in arguments', async () => {
      for (const { numbers, list } of NUMBER_PARTS) {
        const events = await play({ calls: [{ tool: 'clock', arguments: list }] }, (model) => gather(model))
        expect(changesIn(callsOf(events), numbers)).toEqual([[]])
      }
    })

    test.each(['length', 'content_filter'] as const)('emits the stop reason for %s', async (finish) => {
      const events = await play({ text: 'It is', finish }, (model) => gather(model))
      expect(events.at(-1)).toMatchObject({ type: 'finish', finish })
    })

    test('ends with an error and without calls if its stream is cut', async () => {
      const events = await play('cut', (model) => gather(model))
      expect(events.filter(isEnd)).toEqual([
        { type: 'error', error: expect.objectContaining({ code: 'model_stream_cut', retryable: true }) },
      ])
      expect(callsOf(events)).toEqual([])
      expect(events.at(-1)?.type).toBe('error')
    })

    test('ends with an error where it refuses the request', async () => {
      const events = await play('refused', (model) => gather(model))
      expect(events).toEqual([
        { type: 'error', error: expect.objectContaining({ code: 'model_refused_request', retryable: false }) },
      ])
    })

    test('ends when its caller leaves', async () => {
      await play('endless', async (model) => {
        const leave = new AbortController()
        const events: ModelEvent[] = []
        for await (const event of model.stream(REQUEST, leave.signal)) {
          events.push(event)
          leave.abort(new Error('left'))
        }
        expect(textOf(events.slice(0, 1), 'text')).not.toBe('')
      })
    })

    test('ends at once if the caller has left before', async () => {
      const events = await play('endless', (model) => gather(model, AbortSignal.abort()))
      expect(events.filter((event) => event.type !== 'error')).toEqual([])
    })

    test('closes its stream if the reader leaves in the middle', async () => {
      await play('endless', async (model) => {
        for await (const event of model.stream(REQUEST, NEVER)) {
          expect(event.type).toBe('text')
          break
        }
      })
    })

    test('has exactly the capabilities that it declares', async () => {
      const { model, lastRequest, form, close } = await stage({ calls: CALLS })
      try {
        // A model that asks no provider has none to tell of.
        if (!lastRequest) return expect(model.capabilities).toBeUndefined()
        expect(model.capabilities, 'the maker declares its capabilities').toBeDefined()
        expect(await observed({ model, lastRequest })).toEqual({ ...model.capabilities, ...form })
      } finally {
        await close()
      }
    })

    test('answers one request after another', async () => {
      const [first, second] = await play({ text: 'Noon.' }, async (model) => [await gather(model), await gather(model)])
      expect(second).toEqual(first)
    })
  })
}
