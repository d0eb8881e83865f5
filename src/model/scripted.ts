import type { ChatModel, ModelEvent, ModelRequest } from '../contract/model.ts'
import type { Usage } from '../contract/usage.ts'

/** One answer: its events, or a function that makes them from the request. */
export type Script = readonly ModelEvent[] | ((request: ModelRequest, signal: AbortSignal) => Events)

type Events = Iterable<ModelEvent> | AsyncIterable<ModelEvent>

export interface ScriptedModel extends ChatModel {
  /** The requests so far, in order. */
  readonly requests: readonly ModelRequest[]
}

/**
 * Makes a model that answers each request with the next entry of `scripts`. `stream` throws an Error if there is none
 * left: an `error` event would hide the fault of the script as a failure of the model.
 */
export function scripted(scripts: readonly Script[], name = 'scripted/model'): ScriptedModel {
  const requests: ModelRequest[] = []
  return {
    name,
    requests,
    stream: (request, signal) => {
      const script = scripts[requests.length]
      if (!script)
        throw new Error(`The script has ${scripts.length} answers, and this is request ${requests.length + 1}`)
      requests.push(request)
      return play(typeof script === 'function' ? script(request, signal) : script, signal)
    },
  }
}

/** Yields the events of a script. It ends when the signal aborts, even if the script would wait for ever. */
async function* play(events: Events, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
  const aborted = Promise.withResolvers<undefined>()
  signal.addEventListener('abort', () => aborted.resolve(undefined), { once: true })
  const iterator = Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : events[Symbol.iterator]()
  while (!signal.aborted) {
    const next = await Promise.race([iterator.next(), aborted.promise])
    if (!next || next.done) return
    yield next.value
  }
}

/** Makes an answer of text. */
export function say(text: string, usage?: Usage): readonly ModelEvent[] {
  return [
    { type: 'text', text },
    { type: 'finish', finish: 'stop', ...(usage && { usage }) },
  ]
}

/** Makes an answer that calls a tool. `args`: a text stays as it is, anything else becomes JSON. */
export function callAnswer(tool: string, args: unknown = {}, usage?: Usage): readonly ModelEvent[] {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  return [
    { type: 'call.delta', index: 0, tool, arguments: text },
    { type: 'call', index: 0, tool, arguments: text },
    { type: 'finish', finish: 'tool_calls', ...(usage && { usage }) },
  ]
}

/** Joins answers to one: `together(say('Let me look.'), ask('clock'), ask('weather', { place: 'Oslo' }))`. */
export function together(...answers: readonly (readonly ModelEvent[])[]): readonly ModelEvent[] {
  let calls = 0
  let finish: ModelEvent = { type: 'finish', finish: 'stop' }
  const events: ModelEvent[] = []
  for (const answer of answers) {
    const first = calls
    for (const event of answer) {
      if (event.type === 'finish') {
        if (finish.finish !== 'tool_calls' || event.finish === 'tool_calls') finish = event
      } else if (event.type === 'call' || event.type === 'call.delta') {
        events.push({ ...event, index: first + event.index })
        calls = Math.max(calls, first + event.index + 1)
      } else {
        events.push(event)
      }
    }
  }
  return [...events, finish]
}
