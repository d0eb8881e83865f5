import type { ContextReduction, PlacedMessage } from '../../contract/context.ts'
import type { RunFact } from '../../contract/event.ts'
import {
  type ChatModel,
  type ModelFinish,
  type ModelRequest,
  type ModelWindow,
  type Overflow,
  UNKNOWN_WINDOW,
} from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import type { PromptPorts, Running } from '../running.ts'
import { planReduction, tokensUnder, turnStarts } from './plan.ts'
import { textTokens, tokensOf } from './tokens.ts'

/** A prompt that takes more of the room than this is reduced, to `TARGET` of it. */
const FULL = 0.9
const TARGET = 0.6
/** The part of a window that is left for the answer, and the most tokens of it. */
const ANSWER_SHARE = 0.2
const MOST_ANSWER = 16_000
/** The part of the room that one result may take. */
const RESULT_SHARE = 0.25
const LEAST_RESULT_BYTES = 1000
const BYTES_A_TOKEN = 3
/** The bounds of the factor between a model's count of tokens and the estimate. */
const LEAST_FACTOR = 0.3
const MOST_FACTOR = 5
/** How much a request has grown if its count must have grown too, and the least count that tells a window. */
const GROWTH = 1.3
const LEAST_WINDOW = 1000
/** How often a step is asked again with a shorter prompt after the model has refused it as too long. */
export const MOST_OVERFLOWS = 3
/** A prompt of this part of the window has filled it, as servers count some tokens in other ways. */
const ALMOST = 0.98
/** After a refusal without a usable figure, the window counts as this part of what was sent. */
const AFTER_REFUSAL = 0.8

type Sized = Pick<Running, 'state' | 'prompt' | 'tokens'> & { readonly model: Pick<ChatModel, 'name' | 'window'> }

/** Returns the messages of the conversation and the run, with their positions. */
export function placedMessages({
  state,
  history,
  prompt,
}: Pick<Running, 'state' | 'history' | 'prompt'>): PlacedMessage[] {
  const first = prompt?.position ?? 0
  return [...history, ...state.messages.map((message, index) => ({ position: first + index, message }))]
}

/** Returns the reduction in force. */
export function reductionOf({ state, prompt }: Pick<Running, 'state' | 'prompt'>): ContextReduction | undefined {
  return state.reduction ?? prompt?.reduction
}

/** Returns the model's count of tokens over the estimate. */
function factorOf({ tokens }: Sized): number {
  return tokens.factor ?? 1
}

/** Returns the window of the model: as it is known, or less if this conversation has met a smaller one. */
function windowOf({ state, model, prompt }: Omit<Sized, 'tokens'>): ModelWindow {
  const window = model.window ?? UNKNOWN_WINDOW
  const { contextTokens = Infinity, model: name } = reductionOf({ state, prompt }) ?? {}
  return name === model.name && contextTokens < window.contextTokens ? { ...window, contextTokens } : window
}

/** Returns the tokens of the model that a prompt may have: its window without the room for the answer. */
export function roomOf(running: Sized): number {
  const { contextTokens, outputTokens = Infinity } = windowOf(running)
  const { sampling = {} } = running.state.request
  const requested = [sampling['max_tokens'], sampling['max_completion_tokens']].find(
    (count): count is number => typeof count === 'number' && count > 0,
  )
  const answer = Math.min(requested ?? Math.min(outputTokens, MOST_ANSWER), contextTokens * ANSWER_SHARE)
  return Math.floor(contextTokens - answer)
}

/** Returns the most bytes of a result that leave room for others beside it. */
export function roomForResult(running: Sized): number {
  const tokens = (roomOf(running) * RESULT_SHARE) / factorOf(running)
  return Math.max(LEAST_RESULT_BYTES, Math.floor(tokens * BYTES_A_TOKEN))
}

const definitionTokens = new WeakMap<ModelRequest['tools'], number>()

/** Estimates the tokens of a request beside its messages: tools and the schema of the answer. */
function tokensBeside({ tools, responseFormat }: Pick<ModelRequest, 'tools' | 'responseFormat'>): number {
  let tokens = definitionTokens.get(tools)
  if (tokens === undefined) {
    tokens = textTokens(
      JSON.stringify(tools.map(({ name, description, inputSchema }) => [name, description, inputSchema])),
    )
    definitionTokens.set(tools, tokens)
  }
  return tokens + (responseFormat ? textTokens(JSON.stringify(responseFormat)) : 0)
}

/** Estimates the tokens of a request, as yet without the model's own factor. */
export function requestTokens(request: Pick<ModelRequest, 'messages' | 'tools' | 'responseFormat'>): number {
  return request.messages.reduce((total, message) => total + tokensOf(message), tokensBeside(request))
}

/**
 * Learns from a model's count how far the estimate is off. If a request has grown and its count has not, the server cut
 * the prompt without a word: its window is then not longer than that count.
 */
export function learnFactor(
  { tokens, model }: Pick<Running, 'tokens' | 'model'>,
  request: ModelRequest,
  usage: Usage,
): void {
  const { inputTokens, outputTokens } = usage
  if (inputTokens <= 0) return
  const estimate = requestTokens(request)
  const { factor = 1, estimate: earlier = Infinity } = tokens
  const isCut = inputTokens > LEAST_WINDOW && estimate > earlier * GROWTH && inputTokens <= earlier * factor
  if (isCut) return model.learnWindow?.(inputTokens + outputTokens)
  tokens.factor = boundedFactor(inputTokens / estimate)
  tokens.estimate = estimate
}

/** Whether a model stopped without a word because its prompt filled the window. */
export function isCutByWindow(running: Sized, finish: ModelFinish, usage: Usage | undefined): boolean {
  if (finish !== 'length' || !usage) return false
  const { contextTokens } = windowOf(running)
  return usage.inputTokens + usage.outputTokens >= contextTokens * ALMOST
}

function boundedFactor(ratio: number): number {
  return Math.min(MOST_FACTOR, Math.max(LEAST_FACTOR, ratio))
}

/** Reduces the prompt of the next request if it takes too much of the room. `request`: as it would be now. */
export async function fitPrompt(running: Running, step: number, request: ModelRequest): Promise<boolean> {
  const { state, prompt, history } = running
  const used = requestTokens(request) * factorOf(running)
  const room = roomOf(running)
  const isFull = used > room * FULL
  if (!isFull && !(state.steps === 1 && hasMany(history, prompt, reductionOf(running)))) return false
  const target = isFull ? TARGET * room : Math.min(TARGET * room, used)
  return reduce(running, { step, request, target, room })
}

/** Returns whether the earlier turns are more than a model is shown. */
function hasMany(
  history: readonly PlacedMessage[],
  prompt: PromptPorts | undefined,
  reduction: ContextReduction | undefined,
): boolean {
  if (!prompt?.earlier) return false
  const visible = history.filter(({ position }) => position >= (reduction?.from ?? 0))
  if (visible.length > prompt.earlier.messages) return true
  return visible.reduce((total, { message }) => total + tokensOf(message), 0) > prompt.earlier.tokens
}

/**
 * Reduces the prompt after the model has refused it as too long, and tells the model's window. Returns false if it was
 * refused too often, or nothing more can go.
 */
export async function fitAfterRefusal(
  running: Running,
  { step, request, overflow }: { step: number; request: ModelRequest; overflow: Overflow },
): Promise<boolean> {
  const { state, model } = running
  if ((state.step?.overflows ?? 0) >= MOST_OVERFLOWS) return false
  const estimate = requestTokens(request)
  const { contextTokens = Infinity, requestTokens: counted } = overflow
  // A server's count of the request tells how far the estimate was off, unless it contradicts its own refusal.
  if (counted !== undefined && counted > contextTokens) running.tokens.factor = boundedFactor(counted / estimate)
  const size = Math.max(estimate * factorOf(running), counted ?? 0)
  // Servers may name a wrong figure: what was refused is too long in any case.
  const learnt = contextTokens < size ? contextTokens : Math.floor(size * AFTER_REFUSAL)
  // Other conversations must not learn from what is only a guess.
  if (learnt === contextTokens && contextTokens >= LEAST_WINDOW) model.learnWindow?.(contextTokens)
  const window = { ...model.window, contextTokens: learnt }
  const room = roomOf({ state, prompt: running.prompt, tokens: running.tokens, model: { name: model.name, window } })
  return reduce(running, { step, request, target: TARGET * room, room, because: 'refused', contextTokens: learnt })
}

interface ReduceOptions {
  readonly step: number
  readonly request: ModelRequest
  /** The tokens of the model that the prompt may have afterwards. */
  readonly target: number
  readonly room: number
  readonly because?: 'refused'
  /** The context window, if a refusal has told it. */
  readonly contextTokens?: number
}

async function reduce(running: Running, options: ReduceOptions): Promise<boolean> {
  const { step, request, target, room, because, contextTokens } = options
  const { state, model, prompt, journal, commit, flush } = running
  const messages = placedMessages(running)
  const factor = factorOf(running)
  const previous = reductionOf(running)
  const before = requestTokens(request)
  const fixed = Math.max(0, before - tokensUnder(messages, previous))
  const plan = planReduction({
    messages,
    previous,
    turn: prompt?.position ?? turnStarts(messages).at(-1) ?? 0,
    tokens: Math.max(1, Math.floor(target / factor - fixed)),
    earlier: prompt?.earlier && {
      messages: Math.floor(prompt.earlier.messages * TARGET),
      tokens: Math.floor(prompt.earlier.tokens * TARGET),
    },
    model: model.name,
    isReadOnly: (tool) => state.offered.get(tool)?.annotations.readOnly === true,
  })
  if (!plan) return false
  const { aside, dropped } = plan
  flush()
  const summary = dropped.length > 0 ? await prompt?.summarize?.(previous?.summary, dropped) : undefined
  const reduction = {
    ...plan.reduction,
    ...(summary && { summary: summary.text }),
    ...(contextTokens !== undefined && { contextTokens }),
  }
  if (aside) journal.storeFullResult(aside.id, [{ type: 'text', text: aside.text }])
  const fact: RunFact = {
    type: 'context.reduced',
    step,
    reduction,
    before: Math.round(before * factor),
    after: Math.round((fixed + tokensUnder(messages, reduction)) * factor),
    room,
    ...(because && { because }),
    ...(summary?.usage && { usage: summary.usage }),
  }
  commit([fact])
  return true
}
