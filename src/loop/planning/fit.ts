import type { ContextReduction, PlacedMessage } from '../../contract/context.ts'
import type { RunFact } from '../../contract/event.ts'
import {
  type ModelFinish,
  type ModelRequest,
  type ModelWindow,
  type Overflow,
  UNKNOWN_WINDOW,
} from '../../contract/model.ts'
import type { Usage } from '../../contract/usage.ts'
import { isReadOnly } from '../effects.ts'
import type { PromptPorts, Running } from '../running.ts'
import { reductionOf, sentMessages, type Sized, tokensFact } from '../window/planner.ts'
import { promptSize, TOKENS_A_FILE, tokensOf } from '../window/tokens.ts'
import { countOf, learnFromRefusal, LEAST_WINDOW, measureWith } from './count.ts'
import { planReduction, tokensUnder, turnStarts } from './plan.ts'

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
/** How often a step is asked again with a shorter prompt after the model has refused it as too long. */
export const MOST_OVERFLOWS = 3
/** A prompt of this part of the window has filled it, as servers count some tokens in other ways. */
const ALMOST = 0.98
/** After a refusal without a usable figure, the window counts as this part of what was sent. */
const AFTER_REFUSAL = 0.8

/** Returns the window of the model: as it is known, or less if this conversation has met a smaller one. */
function windowOf({ state, model, prompt, tokens }: Sized): ModelWindow {
  const window = model.window ?? UNKNOWN_WINDOW
  const reduction = reductionOf({ state, prompt })
  const refusedWindow = reduction?.model === model.name ? reduction.contextTokens : undefined
  const contextTokens = Math.min(window.contextTokens, refusedWindow ?? Infinity, tokens.contextTokens ?? Infinity)
  return contextTokens < window.contextTokens ? { ...window, contextTokens } : window
}

/** Returns the tokens of the model that a prompt may have: its window without the room for the answer. */
export function measureRoom(running: Sized): number {
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
  const tokens = (measureRoom(running) * RESULT_SHARE) / (running.tokens.factor ?? 1)
  return Math.max(LEAST_RESULT_BYTES, Math.floor(tokens * BYTES_A_TOKEN))
}

/** Returns the tokens that a prompt may have, in the unit of the estimate. */
export function measureEstimate(running: Sized): number {
  return measureRoom(running) / (running.tokens.factor ?? 1)
}

/** Returns the tokens of the model that are left of its room beside a prompt. */
export function roomLeft(running: Sized, inputTokens: number): number {
  return Math.max(0, Math.round(measureRoom(running) - inputTokens))
}

/** Whether a model stopped without a word because its prompt filled the window. */
export function isCutByWindow(
  running: Sized,
  { finish, isWindowFull }: { readonly finish: ModelFinish; readonly isWindowFull?: true },
  usage: Usage | undefined,
): boolean {
  if (finish !== 'length' || isWindowFull) return isWindowFull === true
  if (!usage) return false
  // A model that was given room has written something, if only reasoning.
  if (usage.inputTokens > LEAST_WINDOW && usage.outputTokens === 0) return true
  const { contextTokens } = windowOf(running)
  return usage.inputTokens + usage.outputTokens >= contextTokens * ALMOST
}

/** Reduces the prompt of the next request if it takes too much of the room. `request`: as it would be now. */
export async function fitPrompt(running: Running, step: number, request: ModelRequest): Promise<boolean> {
  const { state, prompt, history } = running
  const used = countOf(running.tokens, request)
  const room = measureRoom(running)
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
  const { contextTokens = Infinity, requestTokens: counted } = overflow
  // A server's count of the request tells how far the estimate was off, unless it contradicts its own refusal.
  if (counted !== undefined && counted > contextTokens) learnFromRefusal(running.tokens, request, counted)
  const size = Math.max(countOf(running.tokens, request), counted ?? 0)
  // Servers may name a wrong figure: what was refused is too long in any case.
  const learnt = contextTokens < size ? contextTokens : Math.floor(size * AFTER_REFUSAL)
  // Other conversations must not learn from what is only a guess.
  if (learnt === contextTokens && contextTokens >= LEAST_WINDOW) model.learnWindow?.(contextTokens)
  const window = { ...model.window, contextTokens: learnt }
  running.tokens.contextTokens = Math.min(learnt, running.tokens.contextTokens ?? Infinity)
  const room = measureRoom({
    state,
    prompt: running.prompt,
    tokens: running.tokens,
    model: { name: model.name, window },
  })
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
  const messages = sentMessages(running)
  const { factor = 1, fileTokens = TOKENS_A_FILE } = running.tokens
  const measure = measureWith(running.tokens)
  const previous = reductionOf(running)
  const { text, files } = promptSize(request)
  const before = text + (files * fileTokens) / factor
  const fixed = Math.max(0, before - tokensUnder(messages, previous, measure))
  const tokens = Math.max(1, Math.floor(target / factor - fixed))
  const isSliding = prompt !== undefined && !prompt.earlier
  const plan = planReduction({
    messages,
    previous,
    turn: prompt?.position ?? turnStarts(messages).at(-1) ?? 0,
    tokens,
    earlier: prompt?.earlier && {
      messages: Math.floor(prompt.earlier.messages * TARGET),
      tokens: Math.floor(prompt.earlier.tokens * TARGET),
    },
    isSliding,
    model: model.name,
    measure,
    isReadOnly: (tool) => isReadOnly(state, tool),
  })
  if (!plan) return false
  const { aside, dropped } = plan
  flush()
  const summary = dropped.length > 0 ? await prompt?.summarize?.(previous?.summary, dropped, tokens) : undefined
  const reduction = {
    ...plan.reduction,
    ...(summary && { summary: summary.text }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(state.step?.tools && { tools: state.step.tools }),
  }
  // The next prompt does not begin with the one that was counted.
  const { last: _, ...learnt } = running.tokens
  // Notes on what a sliding window has left are made when they are read: the prompt did not have all that they tell.
  if (aside && !isSliding) journal.storeFullResult(aside.id, [{ type: 'text', text: aside.text() }])
  const fact: RunFact = {
    type: 'context.reduced',
    step,
    reduction,
    before: Math.round(countOf(running.tokens, request)),
    after: Math.round((fixed + tokensUnder(messages, reduction, measure)) * factor),
    room,
    ...(because && { because }),
    ...(summary?.usage && { usage: summary.usage }),
    ...tokensFact(state, learnt),
  }
  commit([fact])
  delete running.tokens.last
  return true
}
