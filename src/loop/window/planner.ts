import type { ContextReduction, PlacedMessage, TokenCount } from '../../contract/context.ts'
import type { LoopSetup } from '../../contract/hook.ts'
import type { Message } from '../../contract/message.ts'
import {
  type ChatModel,
  type ModelFinish,
  type ModelRequest,
  type Overflow,
  UNKNOWN_WINDOW,
} from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import type { Running } from '../running.ts'
import { withoutRefused } from './refused.ts'
import { promptSize, TOKENS_A_FILE } from './tokens.ts'

/** What is known of a model and of what it is sent. */
export type Sized = Pick<Running, 'state' | 'prompt' | 'tokens'> & {
  readonly model: Pick<ChatModel, 'name' | 'window'>
}

/** Plans what a model is sent of a conversation, so that it fits its window, and learns from what the model says of it. */
export interface ContextPlanner {
  /** Returns the messages that a model is sent under a reduction. */
  readonly visible: (messages: readonly PlacedMessage[], reduction: ContextReduction | undefined) => readonly Message[]
  /** Reduces the prompt of the next request if it takes too much of the room. Returns whether it did. */
  readonly fit: (running: Running, step: number, request: ModelRequest) => Promise<boolean>
  /** Reduces it after the model has refused it as too long. Returns false if nothing more can go. */
  readonly fitAfterRefusal: (
    running: Running,
    refusal: { readonly step: number; readonly request: ModelRequest; readonly overflow: Overflow },
  ) => Promise<boolean>
  /** Whether a model stopped without a word because its prompt filled the window. */
  readonly isCutByWindow: (
    running: Sized,
    end: { readonly finish: ModelFinish; readonly isWindowFull?: true },
    usage: Usage | undefined,
  ) => boolean
  /** Returns the tokens that a model will count in a request. */
  readonly count: (tokens: TokenCount, request: ModelRequest) => number
  /** Learns from a model’s count of a request. */
  readonly learn: (tokens: TokenCount, request: ModelRequest, usage: Usage) => void
  /** Returns the tokens that a prompt may have, in the unit of the estimate. */
  readonly room: (running: Sized) => number
  /** Returns the tokens of the model that are left beside a prompt. */
  readonly roomLeft: (running: Sized, inputTokens: number) => number
  /** Returns the most bytes of a result. */
  readonly roomForResult: (running: Sized) => number
  /** Notes on what a model is not sent any more. Default: there are none, and the newest turns alone are shown. */
  readonly notes?: NotesWriter
}

/** Writes notes on messages that a model is not sent any more, and reads them. */
export interface NotesWriter {
  /** Returns a message with no more than notes on it are made of. */
  readonly outline: (message: Message) => Message
  /** Returns notes in full on messages; undefined if there is nothing to tell. */
  readonly write: (messages: readonly PlacedMessage[], isReadOnly: (tool: string) => boolean) => string | undefined
  /** Returns notes of a reduction with the line that says where those on all messages before a position are read. */
  readonly point: (notes: string | undefined, position: number) => string
  /** Returns the id under which the notes of a reduction are read in full. */
  readonly idIn: (notes: string) => string | undefined
  /** Returns what a model reads under an id, in at most so many bytes, or the lines with some words. */
  readonly read: (reading: NotesReading) => string | undefined
}

export interface NotesReading {
  readonly id: string
  /** The id of the newest notes. */
  readonly newest: string
  readonly search: string | undefined
  readonly most: number
  /** Returns the text of notes by their id. */
  readonly textOf: (id: string) => string | undefined
}

// Contract knows the setup of a loop, and nothing of what performs it.
declare module '../../contract/hook.ts' {
  interface LoopSetup {
    /** Plans what a model is sent. Default: it is sent the newest turns, whether or not they fit its window. */
    readonly planner?: ContextPlanner | undefined
  }
}

/** The part of a window that a prompt may have where nothing is planned. */
const SHARE = 0.8

/** Sends what the window of the conversation lets through. */
const UNPLANNED: ContextPlanner = {
  visible: (messages) => messages.map(({ message }) => message),
  fit: async () => false,
  fitAfterRefusal: async () => false,
  isCutByWindow: (_, { isWindowFull }) => isWindowFull === true,
  count: (_, request) => {
    const { text, files } = promptSize(request)
    return text + files * TOKENS_A_FILE
  },
  learn: () => {},
  room: ({ model }) => (model.window ?? UNKNOWN_WINDOW).contextTokens * SHARE,
  roomLeft: ({ model }, inputTokens) => Math.max(0, (model.window ?? UNKNOWN_WINDOW).contextTokens - inputTokens),
  roomForResult: () => Infinity,
}

export function plannerOf(loop: LoopSetup | undefined): ContextPlanner {
  return loop?.planner ?? UNPLANNED
}

/** Returns the messages of the conversation and the run, with their positions. */
export function placedMessages({
  state,
  history,
  prompt,
}: Pick<Running, 'state' | 'history' | 'prompt'>): PlacedMessage[] {
  const first = prompt?.position ?? 0
  return [...history, ...state.messages.map((message, index) => ({ position: first + index, message }))]
}

/** Returns them as the model is sent them: without the parts that its server has refused. */
export function sentMessages(
  running: Pick<Running, 'state' | 'history' | 'prompt'> & { readonly model: Pick<ChatModel, 'name'> },
): PlacedMessage[] {
  const { state, prompt, model } = running
  const refusals = [...(prompt?.refusals ?? []), ...state.refusals].filter((part) => part.model === model.name)
  const placed = placedMessages(running)
  return refusals.length === 0 ? placed : placed.map((each) => withoutRefused(each, refusals))
}

/** Returns the reduction in force. */
export function reductionOf({ state, prompt }: Pick<Running, 'state' | 'prompt'>): ContextReduction | undefined {
  return state.reduction ?? prompt?.reduction
}

/** Returns what is recorded of a model's count of tokens: another invocation may continue a run that is stored. */
export function tokensFact({ request }: Running['state'], tokens: TokenCount): { readonly tokens?: TokenCount } {
  return request.durable && Object.keys(tokens).length > 0 ? { tokens: { ...tokens } } : {}
}
