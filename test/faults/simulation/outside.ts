import type { RunEvent } from '../../../src/contract/event.ts'
import { contentText, type Message } from '../../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../../src/contract/model.ts'
import { failure, type Tool, type ToolOutcome } from '../../../src/contract/tool.ts'
import { ask, say, tool } from '../../fixtures/play.ts'
import type { Chance } from '../chance.ts'
import type { Attempt, Ledger } from './ledger.ts'
import { historyFaults } from './oracle.ts'

/** What a message asks the model for: the post that it came with, and the tools to call, step by step. */
const PLAN = /^(run_\d+): (.*)$/m

/** How often a tool is polled that answers later, and how long a run waits for its outcome, in milliseconds. */
const POLL_MS = 3000
const WITHIN_MS = 3_600_000

/** A window that a few results fill, in the tokens of this model, and the characters that it counts as one. */
const WINDOW = 2500
const CHARACTERS_A_TOKEN = 3
/** The characters of a result then. */
const LONG_RESULT = 2100

/** How a model with a small window refuses what is longer. */
export type Refusal = 'never, as the edge knows its window' | 'with its window' | 'without a figure'

interface RunUnderWay {
  readonly run: string
  /** What its journal has on disk. */
  readonly events: readonly RunEvent[]
  /** Somebody runs an earlier turn again meanwhile: this run is told of that only if its object is lost. */
  readonly isBehind?: boolean
}

interface OutsidePorts {
  readonly chance: Chance
  readonly ledger: () => Ledger
  readonly addFaults: (...faults: readonly string[]) => void
  /** Whether the start of an attempt of a call is on disk. */
  readonly isStarted: (run: string, call: string, attempt: number) => boolean
  /** Set if the model has a small window. */
  readonly refusal: Refusal | undefined
  readonly underWay: () => RunUnderWay | undefined
  /** The messages that the object shows as those of a step. */
  readonly messagesOfStep: (run: string, step: number) => readonly Message[] | undefined
  /** How often the platform has failed so far. */
  readonly disturbances: () => number
}

/** All that a conversation talks to: its model, its tools and the receiver of its webhooks. */
export class Outside {
  /** From then on nothing fails or is held. */
  isCalm = false
  /** The attempts to notify. */
  readonly attempts: Attempt[] = []
  /** What the model was sent, by the facts from which it follows. */
  readonly prompts = new Map<string, string>()
  readonly tools: readonly Tool[]
  readonly #ports: OutsidePorts
  /** Models and tools that wait; each is let go on by a call. */
  #held: (() => void)[] = []

  constructor(ports: OutsidePorts) {
    this.#ports = ports
    const names = ['plain', 'idempotent', 'pays', 'broken', 'books']
    this.tools = [...names.map((name) => this.#tool(name)), this.#lateTool('polled'), this.#lateTool('patient')]
  }

  letGoOn(): void {
    const releases = this.#held
    this.#held = []
    for (const goOn of releases) goOn()
  }

  /** The context window that the edge knows of the model. */
  get windowTokens(): number | undefined {
    return this.#ports.refusal === 'never, as the edge knows its window' ? WINDOW : undefined
  }

  /** The model. It does what the last plan says that came from a person. */
  async *answer(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const { messages } = request
    const { addFaults, chance, refusal } = this.#ports
    addFaults(...historyFaults('a request to the model', messages), ...repetitionFaults(messages))
    if (refusal !== undefined) {
      this.#comparePrompts(request)
      const inputTokens = tokensOf(request)
      if (inputTokens > WINDOW) return yield refusalOf(refusal, inputTokens)
    }
    const fails = !this.isCalm && chance.isHit(0.1)
    await this.#hold()
    const at = messages.findLastIndex(({ role, content }) => role === 'user' && PLAN.test(contentText(content)))
    const [, run = '', plan = ''] = PLAN.exec(contentText(messages[at]?.content ?? '')) ?? []
    const round = messages.slice(at).filter((message) => message.role === 'assistant' && message.calls).length
    const step = plan.split(';')[round] ?? ''
    const events = step === '' ? say(`Done ${run}.`) : ask(...step.split(' ').map(callOf))
    const [first, ...rest] = events
    if (first) yield first
    await this.#hold()
    if (fails) yield { type: 'error', error: { code: 'model_stream_cut', message: 'It broke off.', retryable: true } }
    else yield* rest
  }

  /** What a model is sent follows from what is on disk: it is the same after a crash, and what the step shows. */
  #comparePrompts({ messages, tools }: ModelRequest): void {
    const { underWay, addFaults, messagesOfStep } = this.#ports
    const { run, events, isBehind } = underWay() ?? { run: '', events: [] }
    const started = events.findLast(({ type }) => type === 'step.started')
    if (started?.type !== 'step.started') return addFaults(`a model was asked without a step of ${run} on disk`)
    if (isBehind) return
    const facts = JSON.stringify([run, events.filter(({ type }) => PROMPT_FACTS.has(type))])
    const prompt = JSON.stringify([messages, tools.map(({ name }) => name)])
    const before = this.prompts.get(facts)
    if (before !== undefined && before !== prompt) addFaults(`step ${started.step} of ${run} got another prompt`)
    this.prompts.set(facts, prompt)
    const visible = messagesOfStep(run, started.step)
    if (visible && JSON.stringify(visible) !== JSON.stringify(messages))
      addFaults(`step ${started.step} of ${run} does not show what its model was sent`)
  }

  /** The receiver of webhooks. */
  readonly receive = async (init: RequestInit): Promise<Response> => {
    const { chance, disturbances } = this.#ports
    const status = this.isCalm ? 200 : chance.pick([200, 200, 200, 500, 500, 410, 0])
    const id = new Headers(init.headers).get('webhook-id') ?? ''
    this.attempts.push({
      id,
      body: typeof init.body === 'string' ? init.body : '',
      status,
      disturbances: disturbances(),
    })
    if (status === 0) throw new Error('The receiver does not answer')
    return new Response(null, { status })
  }

  /** Does not return before it is let go on, in some cases. */
  async #hold(): Promise<void> {
    if (this.isCalm || !this.#ports.chance.isHit(0.3)) return
    await new Promise<void>((resolve) => this.#held.push(resolve))
  }

  /** A tool that answers later: it is polled, or somebody reports its outcome. */
  #lateTool(name: 'polled' | 'patient'): Tool {
    const { chance, ledger } = this.#ports
    const isPolled = name === 'polled'
    const run: Parameters<typeof tool>[1] = (_args, { callId, idempotencyKey }) => {
      ledger().deliveries.push({ call: callId, tool: name, key: idempotencyKey })
      return deferral(isPolled ? POLL_MS : undefined)
    }
    const poll = async (): Promise<ToolOutcome> => {
      const isDone = this.isCalm || chance.isHit(0.4)
      await this.#hold()
      return isDone ? { ok: true, content: [{ type: 'text', text: 'done' }] } : deferral(POLL_MS)
    }
    return { ...tool(name, run, { later: true }), ...(isPolled && { poll }) }
  }

  #tool(name: string): Tool {
    const { chance, ledger, addFaults, isStarted } = this.#ports
    const plainTool = tool(
      name,
      async (_args, { callId, idempotencyKey, runId: run, attempt }) => {
        ledger().deliveries.push({ call: callId, tool: name, key: idempotencyKey })
        if (!isStarted(run, callId, attempt)) addFaults(`${callId} was delivered before its start was on disk`)
        await this.#hold()
        if (name === 'broken') return failure('broken', 'It broke.')
        return this.#ports.refusal === undefined ? 'done' : `done ${'so '.repeat(LONG_RESULT / 3)}`
      },
      {
        annotations: name === 'idempotent' ? { idempotent: true } : {},
        ...(name === 'pays' && { approval: 'always' as const }),
        ...(name === 'books' && { undo: true }),
      },
    )
    if (name !== 'books') return plainTool
    return {
      ...plainTool,
      undo: async ({ context: { callId, idempotencyKey } }) => {
        ledger().undos.push({ call: callId, key: idempotencyKey })
        const fails = !this.isCalm && chance.isHit(0.2)
        await this.#hold()
        return fails ? failure('fixed', 'It stays.') : { ok: true, content: [] }
      },
    }
  }
}

/** The facts of a run from which the prompt of its next step follows, with the turns before it. */
const PROMPT_FACTS: ReadonlySet<string> = new Set([
  ...['step.started', 'step.answered', 'call.settled', 'input.added', 'tools.added', 'context.reduced'],
  ...['limit.reached', 'history.repaired', 'history.compacted', 'call.undone'],
])

function tokensOf({ messages, tools }: ModelRequest): number {
  return Math.ceil(JSON.stringify([messages, tools]).length / CHARACTERS_A_TOKEN)
}

function refusalOf(refusal: Refusal, requestTokens: number): ModelEvent {
  const overflow = refusal === 'without a figure' ? {} : { contextTokens: WINDOW, requestTokens }
  const message = 'The prompt is too long.'
  return { type: 'error', error: { code: 'model_context_exceeded', message, status: 400, retryable: false, overflow } }
}

/** What a tool answers whose outcome comes later. */
function deferral(poll?: number): ToolOutcome {
  const later = { within: WITHIN_MS, ...(poll !== undefined && { poll }) }
  return { ok: false, error: { code: 'later', message: 'Later.' }, later }
}

/** No turn is shown to a model twice: of one that was run again, models see the new run alone. */
function repetitionFaults(messages: ModelRequest['messages']): string[] {
  const texts = messages.filter(({ role }) => role === 'user').map(({ content }) => contentText(content))
  return new Set(texts).size === texts.length ? [] : [`a model was shown a message twice: ${texts.join(', ')}`]
}

function callOf(name: string, index: number): [string, object] {
  return [name, { index }]
}
