import { callId } from '../contract/id.ts'
import type { Message, ToolCall } from '../contract/message.ts'
import type { ModelEvent, ModelRequest } from '../contract/model.ts'
import type { ClientTool } from '../contract/run.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import type { Running } from './running.ts'
import type { RunState, StepState } from './state.ts'
import { failedRun } from './verdict.ts'

/** Asks the model once and records its answer; a model that fails ends the run. */
export async function ask(running: Running, step: StepState): Promise<void> {
  const { state, model, history, signal } = running
  const answer = new Answer(running, step.step)
  for await (const event of model.stream(modelRequest(state, history), signal)) {
    // Once aborted, what still comes is not heard; the state says how the run ends.
    if (signal.aborted) return
    answer.take(event)
  }
  if (!signal.aborted && !state.finished && !state.step?.answer) {
    const message = `The model ${model.name} ended its stream without a finish.`
    running.commit([failedRun(state, { code: 'model_stream_cut', message })])
  }
}

/** Gathers one answer as it comes, and shows it to readers. */
class Answer {
  readonly #running: Running
  readonly #step: number
  readonly #calls: ToolCall[] = []
  #text = ''
  #reasoning = ''

  constructor(running: Running, step: number) {
    this.#running = running
    this.#step = step
  }

  take(event: ModelEvent): void {
    const { journal, state, commit } = this.#running
    const step = this.#step
    switch (event.type) {
      case 'text':
        this.#text += event.text
        return journal.show({ type: 'text.delta', step, text: event.text })
      case 'reasoning':
        this.#reasoning += event.text
        return journal.show({ type: 'reasoning.delta', step, text: event.text })
      case 'call.delta': {
        const { index, tool, arguments: text } = event
        const id = callId(state.request.runId, step, index)
        const name = tool === undefined ? {} : { name: tool }
        return journal.show({ type: 'call.delta', step, index, callId: id, ...name, arguments: text })
      }
      case 'call': {
        const call = {
          callId: callId(state.request.runId, step, event.index),
          tool: event.tool,
          arguments: event.arguments,
        }
        this.#calls.push(call)
        return journal.show({ type: 'call.proposed', ...call })
      }
      case 'finish': {
        const { finish, usage } = event
        const reasoning = this.#reasoning === '' ? {} : { reasoning: this.#reasoning }
        const said = { step, text: this.#text, ...reasoning, calls: this.#calls, finish }
        return commit([{ type: 'step.answered', ...said, ...(usage && { usage }) }])
      }
      case 'error': {
        const { code, message, retryAfterMs } = event.error
        return commit([failedRun(state, { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) })])
      }
    }
  }
}

function modelRequest(state: RunState, history: readonly Message[]): ModelRequest {
  const { system, toolChoice, responseFormat, sampling } = state.request
  // After a limit the model must answer in words. A choice that was forced once is kept: repeating it would never end.
  const tools = state.limit ? [] : definitions(state)
  const choice = state.rounds === 0 ? toolChoice : toolChoice === 'none' ? 'none' : undefined
  return {
    messages: [...(system ? [{ role: 'system', content: system } as const] : []), ...history, ...state.messages],
    tools,
    ...(choice !== undefined && tools.length > 0 && { toolChoice: choice }),
    ...(responseFormat && { responseFormat }),
    ...(sampling && { sampling }),
  }
}

const told = new WeakMap<RunState, readonly ToolDefinition[]>()

/** One array for a run, so that a codec can encode it once. */
function definitions(state: RunState): readonly ToolDefinition[] {
  let list = told.get(state)
  if (!list) told.set(state, (list = [...state.offered.values(), ...state.request.clientTools.map(toDefinition)]))
  return list
}

function toDefinition({ name, description, inputSchema }: ClientTool): ToolDefinition {
  return { name, description, inputSchema, version: '1', hash: '', annotations: {} }
}
