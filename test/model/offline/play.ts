import type { Message } from '../../../src/contract/message.ts'
import type { ModelEvent, ModelRequest, ToolChoice } from '../../../src/contract/model.ts'
import type { ToolDefinition } from '../../../src/contract/tool.ts'
import { offlineRules } from '../../../src/model/offline-rules.ts'

/** When every question of these tests is asked: a Friday, 14:05:09 in Copenhagen. */
export const NOW = Date.parse('2026-11-20T13:05:09Z')

type Values = Readonly<Record<string, unknown>>

/** A tool that answers at once; what its `run` throws is a failed call. */
export interface Prop {
  readonly definition: ToolDefinition
  readonly run: (values: Values) => unknown
}

export interface Made {
  readonly tool: string
  readonly arguments: Values
}

export interface Played {
  readonly calls: readonly Made[]
  /** Calls of one step stand together. */
  readonly steps: readonly (readonly Made[])[]
  readonly answer: string
}

export interface Scene {
  /** What was said before, oldest first, as user and assistant in turn. */
  readonly earlier?: readonly string[]
  readonly toolChoice?: ToolChoice
  readonly now?: () => Date
}

/** A tool of these fields; those under `maybe` may be left out. */
export function prop(name: string, description: string, fields: Values, run: Prop['run']): Prop {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, optional.get(field as object) ?? field]),
  )
  const required = Object.keys(fields).filter((key) => !optional.has(fields[key] as object))
  const inputSchema = { type: 'object', properties, required, additionalProperties: false }
  return { definition: { name, description, inputSchema, version: '1', hash: name, annotations: {} }, run }
}

const optional = new WeakMap<object, Values>()

export function maybe(field: Values): Values {
  const marked = { ...field }
  optional.set(marked, field)
  return marked
}

/** Asks the offline model and plays the tools until it answers; throws where it calls the same thing twice, or no end. */
export async function play(props: readonly Prop[], question: string, scene: Scene = {}): Promise<Played> {
  const model = offlineRules('offline/rules', scene.now && { now: scene.now })
  const earlier = (scene.earlier ?? []).map(
    (content, at) => ({ role: at % 2 ? 'assistant' : 'user', content }) as const,
  )
  const messages: Message[] = [...earlier, { role: 'user', content: question }]
  const tools = props.map(({ definition }) => definition)
  const steps: Made[][] = []
  for (let step = 0; step < 6; step += 1) {
    const events = await gather(model, { messages, tools, ...(scene.toolChoice && { toolChoice: scene.toolChoice }) })
    const answer = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
    const asked = events.flatMap((event) => (event.type === 'call' ? event : []))
    if (asked.length === 0) return { calls: steps.flat(), steps, answer }
    const calls = asked.map(({ tool, arguments: text }, at) => ({
      callId: `call_${step}_${at}`,
      tool,
      arguments: text,
    }))
    messages.push({ role: 'assistant', content: answer, calls })
    steps.push(calls.map((call) => ({ tool: call.tool, arguments: JSON.parse(call.arguments) as Values })))
    for (const call of calls) messages.push(resultOf(props, call))
    const made = steps.flat().map((call) => JSON.stringify(call))
    if (new Set(made).size < made.length) throw new Error(`called twice: ${made.join(' ')}`)
  }
  throw new Error(`no answer to ${question}`)
}

function resultOf(props: readonly Prop[], call: { callId: string; tool: string; arguments: string }): Message {
  const { callId, tool } = call
  try {
    const value = props.find(({ definition }) => definition.name === tool)!.run(JSON.parse(call.arguments) as Values)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return { role: 'tool', callId, tool, ok: true, content: [{ type: 'text', text }] }
  } catch (error) {
    return { role: 'tool', callId, tool, ok: false, content: [{ type: 'text', text: (error as Error).message }] }
  }
}

export async function gather(model: ReturnType<typeof offlineRules>, request: ModelRequest): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event)
  return events
}

/** What a clock in a zone shows at `NOW`. */
export function clockIn(zone: string): { timeZone: string; dateTime: string; date: string; time: string } {
  const wall = new Date(NOW).toLocaleString('sv-SE', { timeZone: zone })
  const name = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).format(NOW)
  const offset = /GMT(.*)/.exec(name)?.[1] || '+00:00'
  const [date = '', time = ''] = wall.split(' ')
  return { timeZone: zone, dateTime: `${date}T${time}${offset}`, date, time }
}
