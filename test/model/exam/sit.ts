import type { Message, ToolCall } from '../../../src/contract/message.ts'
import { textOf } from '../../../src/contract/message.ts'
import type { ChatModel, ModelEvent, ModelRequest } from '../../../src/contract/model.ts'
import { parseArguments } from '../../../src/host/parse-arguments.ts'
import type { Deed, ExamTool, Performance } from './exam-tool.ts'
import type { Moment } from './moment.ts'
import { isRefusal, type Question } from './questions.ts'

const MOST_ROUNDS = 6

/** One question put to a model, and what came of it. */
export interface Sitting {
  readonly asked: string
  readonly answer: string
  readonly calls: readonly { readonly call: ToolCall; readonly performance: Performance }[]
  /** A broken stream, or a call that no host could run. */
  readonly trouble?: string
}

/** Puts a question to a model and plays the tools for it until it answers. */
export async function sit(model: ChatModel, asked: string, tools: readonly ExamTool[]): Promise<Sitting> {
  const messages: Message[] = [{ role: 'user', content: asked }]
  const calls: Sitting['calls'][number][] = []
  const definitions = tools.map(({ definition }) => definition)
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    const turn = await listen(model, { messages, tools: definitions }, round)
    if (turn.trouble !== undefined) return { asked, answer: turn.answer, calls, trouble: turn.trouble }
    if (turn.calls.length === 0) return { asked, answer: turn.answer, calls }
    messages.push({ role: 'assistant', content: turn.answer, calls: turn.calls })
    const direct: string[] = []
    for (const call of turn.calls) {
      const tool = tools.find(({ definition }) => definition.name === call.tool)
      const parsed = parseArguments(call.tool, call.arguments)
      if (!tool) return { asked, answer: turn.answer, calls, trouble: `called ${call.tool}, which nobody offered` }
      if (!parsed.ok) return { asked, answer: turn.answer, calls, trouble: parsed.error.message }
      const performance = await tool.perform(parsed.value)
      calls.push({ call, performance })
      const { outcome } = performance
      const content = outcome.ok ? outcome.content : [{ type: 'text' as const, text: outcome.error.message }]
      messages.push({ role: 'tool', callId: call.callId, tool: call.tool, ok: outcome.ok, content })
      if (outcome.ok && tool.definition.returnDirect === 'always') direct.push(textOf(content))
    }
    if (direct.length === turn.calls.length) return { asked, answer: direct.join('\n'), calls }
  }
  return { asked, answer: '', calls, trouble: `still calling after ${MOST_ROUNDS} rounds` }
}

interface Turn {
  readonly answer: string
  readonly calls: readonly ToolCall[]
  readonly trouble?: string
}

async function listen(model: ChatModel, request: ModelRequest, round: number): Promise<Turn> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(structuredClone(request), new AbortController().signal)) events.push(event)
  const answer = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
  const calls = events.flatMap((event) => {
    if (event.type !== 'call') return []
    return [{ callId: `call_${round}_${event.index}`, tool: event.tool, arguments: event.arguments }]
  })
  const ends = events.filter(({ type }) => type === 'finish' || type === 'error')
  const last = events.at(-1)
  const expected = calls.length > 0 ? 'tool_calls' : 'stop'
  if (ends.length === 1 && last?.type === 'finish' && last.finish === expected) return { answer, calls }
  return { answer, calls, trouble: `the stream ended with ${JSON.stringify(ends)} after ${calls.length} calls` }
}

/** Why a sitting fails its question, or undefined where it passes. */
export function fault(question: Question, sitting: Sitting, moment: Moment): string | undefined {
  if (sitting.trouble !== undefined) return sitting.trouble
  const deeds = sitting.calls.flatMap(({ performance: { deed } }) => (deed ? [deed] : []))
  const isRight = (deed: Deed): boolean => question.does(deed, moment)
  const right = deeds.filter(isRight).length
  if (right === 0) return 'the right thing was not done'
  if (question.once && right > 1) return 'it was done more than once'
  if (!deeds.every((deed) => isRight(deed) || deed.does === question.may)) return 'something else was done too'
  return question.says(sitting.answer, moment, deeds) ? undefined : 'the answer does not say it'
}

/** Why a sitting is no honest no, or undefined where it is one. */
export function dishonesty({ calls, answer, trouble }: Sitting): string | undefined {
  if (trouble !== undefined) return trouble
  if (calls.length > 0) return 'a tool was called'
  return isRefusal(answer) ? undefined : 'the answer does not say that it cannot'
}

/** A sitting on one line, for the list of those that failed. */
export function report({ asked, answer, calls }: Sitting, why: string): string {
  const made = calls.map(({ call, performance: { outcome } }) => {
    return ` → ${call.tool}(${call.arguments})${outcome.ok ? '' : ` failed: ${outcome.error.code}`}`
  })
  return `${asked}${made.join('')} → ${JSON.stringify(answer)}: ${why}`
}
