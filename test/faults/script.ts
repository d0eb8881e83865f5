import { stepOfCall } from '../../src/contract/id.ts'
import { chunksOf, type ModelCall, type ModelReply } from '../fixtures/model-server.ts'
import type { Place } from './recorder.ts'

export const CLASSES = ['plain', 'idempotent', 'readOnly', 'tellsOutcome', 'tellsDone', 'tellsNothing'] as const
/**
 * A delivery class, and the name of the tool that has it. Those that tell are plain, and are asked after a crash what
 * became of a call: of one that took effect they know what it answered, or that it did, or nothing at all.
 */
export type ToolClass = (typeof CLASSES)[number]
/**
 * `approved` is plain, and a person must agree to it. `wordy` is plain, with a long result. `boss` and `clerk` are agents,
 * with scripts of their own.
 */
export type ToolName = ToolClass | 'approved' | 'wordy' | 'boss' | 'clerk'

export function isAgent(tool: ToolName): boolean {
  return tool === 'boss' || tool === 'clerk'
}

/** The token of the script of an agent that a call of a script asks. */
export function childToken(token: string, round: number, index: number): string {
  return `${token}~${round}~${index}`
}

/**
 * A place in a run that shows from outside. Of model request `round`, from 1: it was `asked`, is `speaking` (a first
 * word is out) or `ending` (all is out but the finish). Of a call that it asked for: the tool was `called`, or its
 * `effect` is recorded and not yet answered, or after a crash it was asked for its `status`.
 */
export type Point = `${'asked' | 'speaking' | 'ending' | Place} ${number}`

/** What happens in one run, told apart from all others by its token. */
export interface Script {
  readonly token: string
  /** The tools that the model asks for, answer by answer; after them it says the results. */
  readonly rounds: readonly (readonly ToolName[])[]
  /** A program that the model writes in its first answer, in place of calls. */
  readonly program?: string
  /** The run goes no further than this point until it settles. `index`: the call of the answer that has come to it. */
  readonly pause?: (point: Point, index?: number) => Promise<unknown>
  /** Whether its model counts the tokens of what it is asked. Default: each answer costs `USAGE`. */
  readonly countsTokens?: boolean
}

/** Tokens that one answer of the model costs. */
export const USAGE = { inputTokens: 10, outputTokens: 5 }

/** The user's message of a script's run. */
export function inputOf(token: string): string {
  return `case ${token}`
}

/**
 * Which run a model request is about, and for which of its answers. The calls of the last answer tell their step, also where
 * the prompt has been reduced.
 */
export function placeOf({ body }: ModelCall): { token: string; round: number } {
  const last = body.messages.findLastIndex((message) => message.role === 'user')
  const answer = body.messages.slice(last).findLast((message) => message.role === 'assistant')
  const [call] = (answer?.['tool_calls'] ?? []) as { readonly id: string }[]
  return {
    token: String(body.messages[last]?.content).slice('case '.length),
    round: call ? stepOfCall(call.id) + 1 : 1,
  }
}

/** What a call is about, so that its effect tells which call of which run it is. */
export function whatOf(token: string, round: number, index: number): string {
  return `${token}/${round}/${index}`
}

/** The model's answer. The same question gets the same answer. */
export async function replyOf(
  { token, rounds, program, pause = resolved, countsTokens = false }: Script,
  request: ModelCall,
): Promise<ModelReply> {
  const { round } = placeOf(request)
  await pause(`asked ${round}`)
  const runCode = program !== undefined && round === 1
  const calls = runCode
    ? [{ tool: 'run_code', arguments: JSON.stringify({ code: program }) }]
    : rounds[round - 1]?.map((tool, index) => ({
        tool,
        arguments: JSON.stringify(
          isAgent(tool)
            ? { question: inputOf(childToken(token, round, index)) }
            : { what: whatOf(token, round, index) },
        ),
      }))
  const last = request.body.messages.findLastIndex((message) => message.role === 'user')
  const results = request.body.messages.slice(last).filter((message) => message.role === 'tool')
  const text = calls ? 'Let me see. ' : `Done with ${token}: ${results.map((result) => result.content).join(', ')}`
  const usage = countsTokens ? { ...USAGE, inputTokens: tokensOf(request) } : USAGE
  const chunks = chunksOf({ text, ...(calls && { calls }), usage })
  return {
    // A connection that is kept may be closed just when the next request takes it.
    headers: { connection: 'close' },
    chunks: [
      ...chunks.slice(0, 2),
      pause(`speaking ${round}`).then(nothing),
      ...chunks.slice(2, -2),
      pause(`ending ${round}`).then(nothing),
      ...chunks.slice(-2),
    ],
  }
}

/** As many tokens as a model may count. */
function tokensOf({ body: { messages, tools } }: ModelCall): number {
  return Math.ceil(JSON.stringify([messages, tools]).length / 4)
}

async function resolved(): Promise<void> {}

function nothing(): undefined {}
