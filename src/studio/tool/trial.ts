import { follow } from '../../client/request.ts'
import type { ClientTool } from '../../contract/run.ts'
import { sendRequest } from '../api/session.ts'
import type { CatalogueTool } from './catalogue.ts'

/** What a model did with a question. None of the calls was made. */
export interface Choice {
  /** The names of the tools that the model called, in order; empty if it answered in text. */
  readonly calls: readonly string[]
  readonly answer: string
  readonly error?: string
  /** The names of the tools on offer. */
  readonly tools: readonly string[]
}

export interface TrialOptions {
  readonly model: string
  readonly signal: AbortSignal
}

/** Asks the model with the default tools of the edge and `tool`, as they are. */
export function askAsStored(question: string, tool: string, options: TrialOptions): Promise<Choice> {
  return askModel({ input: question, tools: { add: [tool] } }, options)
}

/** Asks the model with these tools alone, whose descriptions may differ from those of the edge. */
export function askWith(question: string, clientTools: readonly ClientTool[], options: TrialOptions): Promise<Choice> {
  return askModel({ input: question, tools: [], clientTools }, options)
}

/** Returns those of the tools that are named, as a caller brings them along, one of them with another description. */
export function withDescription(
  tools: ReadonlyMap<string, CatalogueTool>,
  names: readonly string[],
  variant: { readonly tool: string; readonly description: string },
): readonly ClientTool[] {
  return names.flatMap((name) => {
    const { description = '', inputSchema, strict } = tools.get(name) ?? {}
    if (!inputSchema) return []
    const text = name === variant.tool ? variant.description : description
    return [{ name, description: text, inputSchema, ...(strict !== undefined && { strict }) }]
  })
}

/** Starts a run whose calls the edge leaves to its caller, and reads what the model asked for. */
async function askModel(body: object, { model, signal }: TrialOptions): Promise<Choice> {
  const json = { ...body, execution: 'caller', ...(model !== '' && { model }) }
  const open = () => sendRequest('/runs', { json, headers: { accept: 'text/event-stream' }, signal })
  let choice: Choice = { calls: [], answer: '', tools: [] }
  for await (const event of follow(open, { mayReopen: false, signal })) {
    if (event.type === 'run.started') choice = { ...choice, tools: event.tools }
    if (event.type === 'step.answered') {
      const calls = [...choice.calls, ...event.calls.map(({ tool }) => tool)]
      choice = { ...choice, calls, answer: event.text }
    }
    if (event.type === 'run.finished' && event.error) {
      choice = { ...choice, error: `${event.error.code}: ${event.error.message}` }
    }
  }
  return choice
}
