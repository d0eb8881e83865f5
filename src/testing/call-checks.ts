import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../contract/json.ts'
import type { ToolContext, ToolDefinition, ToolOutcome, ToolRequest, ToolSuccess } from '../contract/tool.ts'
import { readAnswer } from '../host/worker/answer.ts'
import { Outcome, Status } from '../host/worker/call.ts'
import { issuesOf } from '../schema/validate.ts'
import type { ConformanceOptions, TestedService, ToolCase } from './tested-service.ts'
import { newContext } from './context.ts'
import type { ContractPart, Fault } from './fault.ts'
import { settled } from './settled.ts'

/** The most bytes of a result that models see, if neither the tool nor the operator says otherwise. */
const MOST_RESULT_BYTES = 65_536
/** The length of a text that is longer than any tool expects, and still within the limits of a request. */
const LONG_TEXT = 512 * 1024
/** How soon a call is not wanted any more. */
const ABORT_MS = 50

interface CallCheckOptions extends Omit<ConformanceOptions, 'cases'> {
  readonly settleMs: number
  readonly toolCase: ToolCase
}

/** Calls a tool with effect, and checks what it answers. */
export async function callFaults(
  service: TestedService,
  tool: ToolDefinition,
  options: CallCheckOptions,
): Promise<readonly Fault[]> {
  const checks = new CallChecks(service, tool, options)
  const outcome = await checks.result()
  // A tool that does not succeed with the arguments of its case says nothing about the rest.
  if (!outcome) return checks.faults
  await checks.arguments()
  await checks.aborts()
  if (!tool.annotations.readOnly && tool.annotations.idempotent) await checks.idempotency()
  if (tool.reconcile) await checks.status()
  if (tool.undo) await checks.undo()
  if (options.crash && !tool.annotations.readOnly) await checks.crash(options.crash)
  return checks.faults
}

class CallChecks {
  readonly faults: Fault[] = []
  readonly #service: TestedService
  readonly #tool: ToolDefinition
  readonly #options: CallCheckOptions

  constructor(service: TestedService, tool: ToolDefinition, options: CallCheckOptions) {
    this.#service = service
    this.#tool = tool
    this.#options = options
  }

  /** Checks the outcome of one call. */
  async result(): Promise<ToolSuccess | undefined> {
    const outcome = await this.#success('outcome', this.#request())
    if (!outcome) return undefined
    const { outputSchema, maxResultBytes = MOST_RESULT_BYTES } = this.#tool
    const bytes = Buffer.byteLength(JSON.stringify(outcome.structured ?? outcome.content))
    if (bytes > maxResultBytes)
      this.#add(
        'size',
        `The result has ${bytes} bytes; models see at most ${maxResultBytes}. Answer less, or in pages.`,
      )
    if (outputSchema)
      for (const { path, message } of issuesOf(outputSchema, outcome.structured))
        this.#add('output', `The structured result does not fit outputSchema at "${path}": ${message}`)
    return outcome
  }

  /** Sends texts that are far too long: they may be refused, and must be answered. */
  async arguments(): Promise<void> {
    const { properties } = this.#tool.inputSchema
    const texts = isObject(properties)
      ? Object.keys(properties).filter((key) => Object(properties[key]).type === 'string')
      : []
    if (texts.length === 0) return
    const long = Object.fromEntries(texts.map((key) => [key, 'x'.repeat(LONG_TEXT)]))
    const request = this.#request()
    await this.#outcome('size', { ...request, arguments: { ...request.arguments, ...long } })
  }

  /** Calls whose outcome is not wanted any more must come to an end. */
  async aborts(): Promise<void> {
    const { settleMs } = this.#options
    for (const [check, reason] of [
      ['timeout', 'timeout'],
      ['cancel', 'cancelled'],
    ] as const) {
      const request = this.#request({ deadline: Date.now() + ABORT_MS })
      const answer = this.#service.callAborted?.(request, { afterMs: ABORT_MS, reason })
      if (!answer) return
      const ended = await settled(answer, settleMs)
      if (!ended.ok) this.#add(check, `A call that was aborted (${reason}) did not end: ${ended.reason}.`)
    }
  }

  /** The same key twice, one after the other and at once, is one effect. */
  async idempotency(): Promise<void> {
    const before = await this.#effects()
    const request = this.#request()
    const first = await this.#success('idempotency', request)
    const second = await this.#success('idempotency', retried(request))
    if (first && second && !isDeepStrictEqual(first, second))
      this.#add('idempotency', 'The same call, sent again with its key, has another outcome.')
    const both = this.#request()
    await Promise.all([this.#outcome('idempotency', both), this.#outcome('idempotency', retried(both))])
    await this.#expectEffects('idempotency', before, 2, 'two calls that were sent twice')
  }

  /** The status of a call is known after it, and never before it. */
  async status(): Promise<void> {
    const request = this.#request()
    const before = await this.#statusOf(request)
    if (before !== undefined && before !== 'absent' && before !== 'unknown')
      this.#add('status', 'A call that was never sent must be "absent" or "unknown".')
    if (!(await this.#success('status', request))) return
    if ((await this.#statusOf(request)) === 'absent')
      this.#add('status', 'A call that has been answered is "absent": it would be sent again, and take effect twice.')
  }

  /** A call is undone, and undoing it again, as after a crash, is answered too. */
  async undo(): Promise<void> {
    const request = this.#request()
    const outcome = await this.#success('undo', request)
    if (!outcome) return
    for (const [index, what] of ['undo()', 'undo() of a call that was undone'].entries()) {
      const undone = await this.#read('undo', this.#service.undo?.(request, outcome) ?? noMethod('undo'), what)
      if (index === 0 && undone && !undone.ok) this.#add('undo', `undo() failed: ${undone.error.message}`)
    }
  }

  /** A call during which the Worker is lost takes effect once, by whatever the edge does about it. */
  async crash(crash: () => Promise<unknown>): Promise<void> {
    const { settleMs, toolCase } = this.#options
    const before = await this.#effects()
    const request = this.#request()
    const lost = settled(this.#service.call(request), settleMs)
    await toolCase.untilCrash?.()
    await crash()
    await lost
    const { idempotent } = this.#tool.annotations
    const status = this.#tool.reconcile ? await this.#statusOf(request) : undefined
    const isSentAgain = status === 'absent' || ((status === undefined || status === 'unknown') && idempotent)
    if (isSentAgain) await this.#outcome('crash', retried(request))
    await this.#expectEffects('crash', before, 1, 'a call during which the Worker was lost')
  }

  #request(context: Partial<ToolContext> = {}): ToolRequest {
    const { toolCase } = this.#options
    const { name, hash } = this.#tool
    const args = typeof toolCase.arguments === 'function' ? toolCase.arguments() : toolCase.arguments
    return { name, hash, arguments: args, context: { ...newContext(), ...toolCase.context, ...context } }
  }

  /** Returns the outcome of a call; a call that throws, and an answer that is none, are faults. */
  #outcome(check: ContractPart, request: ToolRequest): Promise<ToolOutcome | undefined> {
    return this.#read(check, this.#service.call(request), 'The call')
  }

  async #read(check: ContractPart, answer: PromiseLike<unknown>, what: string): Promise<ToolOutcome | undefined> {
    const result = await settled(answer, this.#options.settleMs)
    if (!result.ok) return this.#add(check, `${what} threw (${result.reason}): expected an outcome as a value.`)
    const outcome = readAnswer(Outcome, result.value)
    if (typeof outcome === 'string') return this.#add(check, `${what} was not answered with an outcome: ${outcome}`)
    return outcome.value
  }

  async #success(check: ContractPart, request: ToolRequest): Promise<ToolSuccess | undefined> {
    const outcome = await this.#outcome(check, request)
    if (!outcome || outcome.ok) return outcome
    const { code, message } = outcome.error
    return this.#add(check, `A call with the arguments of its case failed (${code}): ${message}`)
  }

  async #statusOf(request: ToolRequest): Promise<unknown> {
    const result = await settled(this.#service.status?.(request) ?? noMethod('status'), this.#options.settleMs)
    if (!result.ok) return this.#add('status', `status() threw: ${result.reason}`)
    const status = readAnswer(Status, result.value)
    return typeof status === 'string' ? this.#add('status', `status() has another form: ${status}`) : status.value
  }

  async #effects(): Promise<number> {
    return (await this.#options.toolCase.effects?.()) ?? 0
  }

  async #expectEffects(check: ContractPart, before: number, most: number, what: string): Promise<void> {
    const count = (await this.#effects()) - before
    if (count > most) this.#add(check, `There were ${count} effects of ${what}; expected at most ${most}.`)
  }

  #add(check: ContractPart, message: string): undefined {
    this.faults.push({ tool: this.#tool.name, check, message })
  }
}

/** The same call, as an edge sends it again. */
function retried(request: ToolRequest): ToolRequest {
  return { ...request, context: { ...request.context, attempt: 2 } }
}

function noMethod(name: string): Promise<never> {
  return Promise.reject(new Error(`the definition promises ${name}(), and there is none`))
}
