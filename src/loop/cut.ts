import type { RunFact } from '../contract/event.ts'
import type { ToolCall } from '../contract/message.ts'
import type { ModelRequest } from '../contract/model.ts'
import { priced, type Usage } from '../contract/usage.ts'
import type { Running } from './running.ts'
import { CHARACTERS_A_TOKEN, tokensOf } from './window.ts'

/** As much of an answer as had come. */
interface Heard {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly ToolCall[]
}

/**
 * What an answer used that is heard no more, since the run was aborted. Told where it counts for a key alone: who leaves
 * shortly before the end of an answer does not get it for nothing.
 */
export function unheard({ state }: Running, step: number, usage: Usage | undefined): RunFact[] {
  return state.request.budget && usage ? [{ type: 'answer.cut', step, usage }] : []
}

/** The same of one that was cut off in the middle: providers tell what it used at its end, so that is estimated. */
export function cutOff(running: Running, step: number, request: ModelRequest, heard: Heard): RunFact[] {
  const { state, model } = running
  if (!state.request.budget) return []
  const ofTools = Math.ceil(JSON.stringify(request.tools).length / CHARACTERS_A_TOKEN)
  const usage = {
    inputTokens: request.messages.reduce((sum, message) => sum + tokensOf(message), ofTools),
    outputTokens: tokensOf({ role: 'assistant', content: heard.text, reasoning: heard.reasoning, calls: heard.calls }),
  }
  return unheard(running, step, model.price ? priced(usage, model.price) : usage)
}
