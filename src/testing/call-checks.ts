import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { TOOL_NAME } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { ToolContext, ToolOutcome, ToolRequest, ToolService, ToolSuccess } from '../contract/tool.ts'
import { parseStored } from '../definitions/definition.ts'
import { Outcome, readAnswer, Status } from '../host/worker/call.ts'
import { checkSchema } from '../schema/check.ts'
import { issuesOf } from '../schema/validate.ts'
import { settled, type Settled } from './recorded-model.ts'
import { randomUUID } from 'node:crypto'

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
async function callFaults(
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

/** Calls a tool in ways that must fail, and checks that each failure is a value that says why. */
async function refusalFaults(service: ToolService, tool: ToolDefinition, settleMs: number): Promise<Fault[]> {
  const { name, inputSchema, hash } = tool
  const faults: Fault[] = []
  const expectFailure = async (
    check: ContractPart,
    request: { hash: string; arguments: Record<string, unknown> },
    code: string,
  ) => {
    const result = await settled(service.call({ name, ...request, context: newContext() }), settleMs)
    const message = faultOf(result, [code])
    if (message !== undefined) faults.push({ tool: name, check, message })
  }
  await expectFailure('hash', { hash: `${hash}-of-another-definition`, arguments: {} }, 'schema_mismatch')
  for (const wrong of wrongArguments(inputSchema))
    await expectFailure('bad-input', { hash, arguments: wrong }, 'invalid_arguments')
  return faults
}

/** Returns arguments that cannot fit: without the required ones, and with null for each. */
function wrongArguments({ required, properties }: ToolDefinition['inputSchema']): Record<string, unknown>[] {
  if (!Array.isArray(required) || required.length === 0) return []
  if (!isObject(properties)) return [{}]
  return [{}, Object.fromEntries(Object.keys(properties).map((key) => [key, null]))]
}

async function unknownToolFaults(service: ToolService, settleMs: number): Promise<Fault[]> {
  const request = { name: 'no-such-tool', arguments: {}, hash: '', context: newContext() }
  const message = faultOf(await settled(service.call(request), settleMs), ['unknown_tool', 'schema_mismatch'])
  return message === undefined ? [] : [{ check: 'unknown-tool', message }]
}

/** Returns what is wrong with an outcome that must be a failure with one of these codes. */
function faultOf(result: Settled<ToolOutcome>, codes: readonly string[]): string | undefined {
  const expected = `expected a failure with the code ${codes.join(' or ')}`
  if (!result.ok) return `The call threw (${result.reason}): ${expected} as a value.`
  const { value } = result
  if (!isObject(value) || typeof value.ok !== 'boolean') return `The result is not a tool outcome: ${expected}.`
  if (value.ok) return `The call succeeded: ${expected}.`
  const { code, message } = value.error
  if (!codes.includes(code)) return `The code is "${code}": ${expected}.`
  return message.trim() === '' ? 'The failure has no message for the model.' : undefined
}

/**
 * Checks that a Worker keeps the tool contract, in whatever language it is written. Returns what is wrong; an empty list
 * means nothing. Tools that have a case are called about ten times with effect, also twice at once, with a result that
 * nobody wants, and while the Worker is lost; all others are called with wrong arguments alone, without effect.
 *
 * @example
 * const tool = await startTool('tools/greeting')
 * expect(await checkConformance(tool.service)).toEqual([])
 */
export async function checkConformance(
  service: TestedService,
  options: ConformanceOptions = {},
): Promise<readonly Fault[]> {
  const { cases = {}, settleMs = 10_000 } = options
  const tools = await describedTools(service, settleMs)
  if ('check' in tools) return [tools]
  const names = tools.map(({ name }) => name)
  const twice = names.filter((name, at) => names.indexOf(name) !== at)
  const faults: Fault[] = twice.map((tool) => ({ tool, check: 'describe', message: 'Two tools have this name.' }))
  for (const tool of Object.keys(cases))
    if (!names.includes(tool)) faults.push({ tool, check: 'describe', message: 'There is a case for it, and no tool.' })
  const nextTools = await describedTools(service, settleMs)
  for (const tool of tools) {
    const toolCase = cases[tool.name]
    faults.push(...definitionFaults(tool, nextTools), ...(await refusalFaults(service, tool, settleMs)))
    if (toolCase) faults.push(...(await callFaults(service, tool, { ...options, settleMs, toolCase })))
  }
  return [...faults, ...(await unknownToolFaults(service, settleMs))]
}

/** Returns the tools that a Worker describes, or the fault in its description. */
async function describedTools(service: ToolService, settleMs: number): Promise<readonly ToolDefinition[] | Fault> {
  const description = await settled(service.describe(), settleMs)
  if (!description.ok) return { check: 'describe', message: `describe() threw: ${description.reason}` }
  const { value } = description
  if (isObject(value) && value.contract === 1 && Array.isArray(value.tools)) return value.tools
  return { check: 'describe', message: 'describe() must answer { contract: 1, tools: [] }.' }
}

/** Checks a definition. `nextTools`: what the Worker described the next time, which must be the same. */
function definitionFaults(tool: ToolDefinition, nextTools: readonly ToolDefinition[] | Fault): Fault[] {
  const { name, description, inputSchema, outputSchema, hash, version } = tool
  const faults: Fault[] = []
  const add = (check: ContractPart, message: string) => void faults.push({ tool: name, check, message })
  if (!TOOL_NAME.test(name)) add('describe', 'A name has 1 to 64 letters, digits, "_" or "-".')
  if (typeof description !== 'string' || description.trim() === '') add('describe', 'A description is missing.')
  if (typeof hash !== 'string' || hash === '') add('describe', 'A hash of the definition is missing.')
  if (typeof version !== 'string') add('describe', 'A version is missing.')
  if (!isObject(tool.annotations)) add('describe', 'annotations must be an object, which may be empty.')
  const other = 'check' in nextTools ? undefined : nextTools.find((each) => each.name === name)
  if (other?.hash !== hash) add('describe', 'The hash differs from one describe() to the next.')
  if (!isObject(inputSchema) || inputSchema['type'] !== 'object') add('schema', 'inputSchema needs type "object".')
  else for (const issue of checkSchema(inputSchema)) add('schema', `inputSchema: ${issueText(issue)}`)
  if (outputSchema === undefined) return faults
  for (const issue of checkSchema(outputSchema, 'any')) add('schema', `outputSchema: ${issueText(issue)}`)
  return faults
}

function issueText(issue: unknown): string {
  return typeof issue === 'string' ? issue : JSON.stringify(issue)
}

/** The service of a tool Worker, as far as the checks need it. */
export interface TestedService extends ToolService {
  /**
   * Calls, and says after some time that the outcome is not wanted any more. Resolves with an outcome; over HTTP, where
   * nobody reads that, once the server answers again. Default: neither timeout nor cancellation is checked.
   */
  callAborted?(request: Parameters<ToolService['call']>[0], abort: Abort): Promise<unknown>
}

export interface Abort {
  readonly afterMs: number
  readonly reason: 'timeout' | 'cancelled'
}

export type ToolArguments = Readonly<Record<string, unknown>>

/** How a tool is called with effect. */
export interface ToolCase {
  /** Arguments of a call that succeeds, or a function that returns those of another call each time. */
  readonly arguments: ToolArguments | (() => ToolArguments)
  /** Replaces parts of what the tool is told beside its arguments. */
  readonly context?: Partial<ToolContext>
  /** Counts the effects so far. Default: effects are not counted. */
  readonly effects?: () => number | Promise<number>
  /**
   * Resolves once the call of the check `crash` has got as far as it should when the Worker is lost, such as between an
   * effect and its record. Default: as soon as it was sent.
   */
  readonly untilCrash?: () => Promise<unknown>
}

export interface ConformanceOptions {
  /** How tools are called with effect, by name. Tools without a case are called in ways that must fail alone. */
  readonly cases?: Readonly<Record<string, ToolCase>>
  /** Loses the Worker with all calls in flight, and starts it again on its storage. Default: the check is left out. */
  readonly crash?: () => Promise<unknown>
  /** How long a refusal, or a call that is not wanted any more, may take, in milliseconds. Default: 10 seconds. */
  readonly settleMs?: number
}

/**
 * Returns what an edge would refuse about a stored definition, by the path of its file. An empty list means nothing.
 * Throws an Error if the file is missing or not JSON.
 *
 * @example
 * expect(definitionIssues('tools/definitions/rate.json')).toEqual([])
 */
export function definitionIssues(file: string): readonly string[] {
  const parsed = parseStored(JSON.parse(readFileSync(file, 'utf8')))
  return parsed.ok ? [] : parsed.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
}

/** How long a call may take, in milliseconds. */
const CALL_MS = 30_000

/** The context of a call by an edge for tests. */
export function newContext(): ToolContext {
  const id = randomUUID()
  return {
    runId: `run_${id}`,
    callId: `call_${id}`,
    idempotencyKey: id,
    attempt: 1,
    deadline: Date.now() + CALL_MS,
    caller: { tenant: 'test', scopes: [] },
    values: {},
  }
}

/** A part of the tool contract that a Worker does not keep. */
export interface Fault {
  /** The tool that it is about; absent for the Worker as a whole. */
  readonly tool?: string
  /** Which part of the contract. */
  readonly check: ContractPart
  /** What happened, and what should have. */
  readonly message: string
}

/**
 * The parts of the tool contract. `describe`, `schema`: the definitions. `hash`, `bad-input`, `unknown-tool`: what is
 * refused. Of calls that succeed: `outcome` and `output`, their results; `size`, of results and arguments; `timeout`
 * and `cancel`, calls whose outcome is not wanted any more; `idempotency`, calls that are sent twice; `status` and
 * `undo`; `crash`, the loss of the Worker during a call.
 */
export type ContractPart =
  | ('describe' | 'schema' | 'hash' | 'bad-input' | 'unknown-tool')
  | ('outcome' | 'output' | 'size' | 'timeout' | 'cancel' | 'idempotency' | 'status' | 'undo' | 'crash')
