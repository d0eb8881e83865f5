import { newId, deriveRunId } from '../../contract/id.ts'
import { loadedTools } from '../../contract/found-tools.ts'
import { acceptRequest } from '../../contract/hook.ts'
import { canonicalJson, sha256 } from '../../contract/json.ts'
import type { Message } from '../../contract/message.ts'
import type { ChatModel, ProviderOptions, ResponseFormat, ToolChoice } from '../../contract/model.ts'
import {
  type CallerHistory,
  type ClientTool,
  type OnBusy,
  type RunRequest,
  selectionByOffer,
  type ToolSelection,
} from '../../contract/run.ts'
import { type Limits, lowerLimits } from '../../contract/limits.ts'
import { chooseOptions, type RunOptionValues } from '../../contract/run-options.ts'
import { shardOf } from '../../contract/placement.ts'
import { traceOf } from '../../contract/trace.ts'
import type { Setup } from '../../contract/setup.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { Caller } from '../../contract/tool.ts'
import { textTokens, tokensOf, toolTokens } from '../../loop/window/tokens.ts'
import { withCallerMarks } from '../../loop/decide/data-flow-guard.ts'
import { shareOfBudget } from './budget.ts'
import type { RequestContext, EdgeContext } from '../request-context.ts'
import { conversationStubOfRun } from './conversation-stub.ts'
import type { PreparedRun } from './start-run.ts'
import { checkLimits, requestValues, selectTools } from './select-tools.ts'
import { Problem } from '../problem.ts'
import { withFiles } from './files.ts'
import { settingsOf, withDefaults } from './place-run.ts'

/** A decoded request for a run, in the form that all surfaces share. */
export interface RunParameters extends Partial<RunOptionValues> {
  readonly input: readonly Message[]
  /** Set if the input is the whole history. */
  readonly callerHistory?: CallerHistory | undefined
  readonly system?: string | undefined
  readonly model?: string | undefined
  readonly tools?: ToolSelection | undefined
  readonly clientTools?: readonly ClientTool[] | undefined
  readonly context?: Readonly<Record<string, unknown>> | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly limits?: Partial<Limits> | undefined
  readonly responseFormat?: ResponseFormat | undefined
  readonly sampling?: Readonly<Record<string, unknown>> | undefined
  readonly providerOptions?: ProviderOptions | undefined
  readonly hints?: RunRequest['hints'] | undefined
  readonly compat?: RunRequest['compat'] | undefined
  readonly onBusy?: OnBusy | undefined
  /** Whether a text names a file that the model cannot be shown. Default: the request is refused. */
  readonly namesFiles?: boolean | undefined
}

/**
 * How long a run waits for an overloaded model if its request names no conversation and no limit, in milliseconds: its
 * client shows nothing meanwhile, and tries again by itself.
 */
const UNSTORED_WAIT_MS = 10_000

/**
 * Checks a request for a run against this edge (its model, tools, limits and budget) and completes it. Throws a Problem
 * for anything that the edge does not know or allow; nothing has been stored then.
 */
export async function prepareRun(
  context: RequestContext,
  requestParameters: RunParameters,
  { conversation }: { conversation?: string | undefined } = {},
): Promise<PreparedRun> {
  const { setup, caller, request, replacements } = context
  const { config } = setup
  checkFiles(requestParameters.input)
  checkOptions(requestParameters.providerOptions ?? {}, config.providerOptions)
  const parameters =
    conversation === undefined
      ? requestParameters
      : withDefaults(await settingsOf({ setup, caller }, conversation), requestParameters)
  const model = modelOf(setup, parameters.model)
  const { namesFiles } = requestParameters
  const input = await withFiles(parameters.input, setup, { capabilities: model.capabilities, namesFiles })
  const identity = await identifyRun(request, caller, { parameters: requestParameters, conversation })
  const budget = await shareOfBudget({ setup, caller }, identity.runId, () =>
    isKnown({ setup, caller }, { ...identity, conversation }),
  )
  const place = { ...identity, ...(conversation !== undefined && { conversation }), ...(budget && { budget }) }
  const limits = {
    ...(conversation === undefined && identity.fingerprint === undefined && { modelWaitMs: UNSTORED_WAIT_MS }),
    ...parameters.limits,
  }
  const run = await applyHooks(setup, runRequest(context, { ...parameters, input, limits }, model.name, place))
  const tools = await selectTools(setup, run, { isOfCaller: parameters.tools !== undefined, replacements })
  await checkLimits(setup, run, { limits: parameters.limits, tools })
  checkChoice(run.toolChoice, [
    ...tools.map((tool) => tool.definition.name),
    ...run.clientTools.map(({ name }) => name),
  ])
  const offered = new Map(tools.map(({ definition }) => [definition.name, definition]))
  // A hook may choose a few of many tools for each step.
  const hasChoice = setup.loop?.hooks?.some((hook) => hook.activate !== undefined) === true
  checkLength(run, hasChoice ? [] : [...offered.values(), ...loadedTools(run, run.input)], model)
  const marks = { offered, clientTools: run.clientTools, callerData: config.callerData }
  const fromUser = conversation === undefined ? {} : { isFromUser: true as const }
  return { run: { ...run, ...fromUser, input: withCallerMarks(run.input, marks) }, tools, onBusy: parameters.onBusy }
}

/**
 * Estimates the tokens of the first request of a run to its model, with the edge's own instructions and tools. Nothing is
 * started, and hooks are not asked about the request. Throws a Problem as `prepareRun` does.
 */
export async function estimateTokens(context: RequestContext, parameters: RunParameters): Promise<number> {
  const { setup, replacements } = context
  checkFiles(parameters.input)
  const run = runRequest(context, parameters, modelOf(setup, parameters.model).name, { runId: newId('run') })
  const tools = await selectTools(setup, run, { isOfCaller: parameters.tools !== undefined, replacements })
  const definitions = [...tools.map(({ definition }) => definition), ...loadedTools(run, run.input)]
  const messageTokens = run.input.reduce((total, message) => total + tokensOf(message), 0)
  return textTokens(run.system ?? '') + messageTokens + toolTokens(definitions)
}

/** Completes a request for a run with what the edge has and allows. */
function runRequest(
  { setup, caller, request }: RequestContext,
  parameters: RunParameters,
  model: string,
  place: Pick<RunRequest, 'runId' | 'fingerprint' | 'conversation' | 'budget'>,
): RunRequest {
  const { config } = setup
  const { runId, conversation } = place
  const system = [config.system, parameters.system].filter((text) => text !== undefined && text !== '').join('\n\n')
  const trusted = setup.trusted?.(caller)
  const compat = parameters.compat ?? config.compat
  const trace = traceOf(request.headers.get('traceparent'), runId, setup.hasSpans === true)
  const shard = shardOf(conversation ?? runId, config.directoryShards)
  const selection = parameters.tools ?? setup.toolsOf?.(model)
  // A hook may spread this over its own defaults: what a request leaves out must be absent.
  return {
    ...place,
    durable: conversation !== undefined,
    caller,
    input: parameters.input,
    ...(parameters.callerHistory && { callerHistory: parameters.callerHistory }),
    ...(system !== '' && { system }),
    model,
    clientTools: parameters.clientTools ?? [],
    ...(selection && { selection: selectionByOffer(selection) }),
    ...(parameters.toolChoice && { toolChoice: parameters.toolChoice }),
    ...(parameters.responseFormat && { responseFormat: parameters.responseFormat }),
    ...(parameters.sampling && Object.keys(parameters.sampling).length > 0 && { sampling: parameters.sampling }),
    ...(parameters.providerOptions && { providerOptions: parameters.providerOptions }),
    ...(parameters.hints && { hints: parameters.hints }),
    context: requestValues(request, config, parameters.context),
    limits: lowerLimits(config.limits, parameters.limits ?? {}),
    ...chooseOptions(config, parameters),
    ...(!config.taintRule && { taintRule: false }),
    ...(compat && { compat }),
    ...(trusted && { trusted }),
    ...(trace && { trace }),
    ...(shard > 0 && { shard }),
  }
}

/** Resolves a model by its name, or the default model. Throws a Problem if this edge does not serve it. */
export function modelOf(
  { models }: Setup,
  name: string | undefined,
): Pick<ChatModel, 'name' | 'capabilities' | 'hints' | 'window'> {
  const resolution = models.resolve(name)
  if (resolution.ok) return { ...resolution.model, name: resolution.name }
  const { code, message } = resolution
  throw new Problem({ status: code === 'model_not_configured' ? 503 : 404, code, message, param: 'model' })
}

/**
 * Throws a Problem if what every request of the run must have is longer than the model's window: the new part of the
 * input, which follows the last answer, with the instructions and the tools. Earlier messages are shortened where they do
 * not fit.
 */
function checkLength(
  { input, system = '' }: Pick<RunRequest, 'input' | 'system'>,
  tools: readonly (ToolDefinition | ClientTool)[],
  { name, window }: Pick<ChatModel, 'name' | 'window'>,
): void {
  if (!window) return
  const news = input.slice(input.findLastIndex(({ role }) => role === 'assistant') + 1)
  const ofRole = (messages: readonly Message[], role: Message['role']) =>
    messages.reduce((total, message) => total + (message.role === role ? tokensOf(message) : 0), 0)
  const ofInput = ofRole(news, 'user')
  const [ofSystem, ofTools] = [textTokens(system) + ofRole(input, 'system'), toolTokens(tools)]
  if (ofInput + ofSystem + ofTools <= window.contextTokens) return
  const size = `the context window of the model ${name} has ${window.contextTokens}.`
  const message =
    ofInput > window.contextTokens
      ? `The input has about ${ofInput} tokens, and ${size} Send less, in parts, or name a model with a larger window.`
      : `The instructions have about ${ofSystem} tokens, the tools ${ofTools} and the input ${ofInput}, and ${size} ` +
        'Shorten them, offer fewer tools, or name a model with a larger window.'
  throw new Problem({ status: 400, code: 'input_too_long', message })
}

/** Throws a Problem 400 if the operator has not allowed all of these options. */
function checkOptions(options: ProviderOptions, allowed: readonly string[]): void {
  for (const provider in options) {
    for (const member in options[provider]) {
      const param = `${provider}.${member}`
      if (allowed.includes(param)) continue
      const message = `This edge does not allow "${param}". It allows ${allowed.join(', ') || 'no options'}.`
      throw new Problem({ status: 400, code: 'option_not_allowed', message, param })
    }
  }
}

/** Passes a request through the hooks, which may change it. Throws a Problem 403 if one of them refuses it. */
async function applyHooks({ loop, report }: Setup, request: RunRequest): Promise<RunRequest> {
  const run = await acceptRequest(loop?.hooks, request)
  if (!('refusal' in run)) return run
  report({ event: 'run.refused', hook: run.hook, runId: request.runId })
  throw new Problem({ status: 403, code: 'refused', message: run.refusal })
}

/** Returns the run's id: derived from the Idempotency-Key, if any, so that a key stands for one run; else a new id. */
async function identifyRun(
  request: Request,
  { tenant }: Caller,
  { parameters, conversation = '' }: { parameters: RunParameters; conversation?: string | undefined },
): Promise<{ runId: string; fingerprint?: string }> {
  const key = request.headers.get('idempotency-key')
  if (key === null) return { runId: newId('run') }
  requireIdempotencyKey(key, 255)
  const runId = await deriveRunId(tenant, conversation, new URL(request.url).pathname, key)
  const { callerHistory: _history, ...rest } = parameters
  return { runId, fingerprint: await sha256(canonicalJson(rest)) }
}

/** Throws a Problem 400 unless a key is printable ASCII without spaces, of at most so many characters. */
export function requireIdempotencyKey(key: string, most: number): void {
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= most) return
  const message = `An Idempotency-Key must be 1 to ${most} printable ASCII characters without spaces.`
  throw new Problem({ status: 400, code: 'invalid_idempotency_key', message })
}

/** Whether the run of a request exists already, because its Idempotency-Key was used before. */
async function isKnown(
  context: EdgeContext,
  { fingerprint, ...location }: { runId: string; fingerprint?: string; conversation: string | undefined },
): Promise<boolean> {
  if (fingerprint === undefined) return false
  return (await conversationStubOfRun(context, location).record(location.runId, 0)).ok
}

function checkChoice(choice: ToolChoice | undefined, names: readonly string[]): void {
  if (choice === 'required' && names.length === 0) {
    const message = 'A tool call is required, but no tools are offered.'
    throw new Problem({ status: 400, code: 'no_tools_on_offer', message, param: 'tool_choice' })
  }
  if (typeof choice !== 'object' || names.includes(choice.tool)) return
  const message = `The tool "${choice.tool}" is not offered in this request.`
  throw new Problem({ status: 400, code: 'unknown_tool', message, param: 'tool_choice' })
}

/** Throws a Problem for files that no model could read, and that would stay in the conversation for good. */
export function checkFiles(messages: readonly Pick<Message, 'content'>[]): void {
  for (const { content } of messages) {
    for (const part of typeof content === 'string' ? [] : content) {
      if (!('data' in part) || /^[a-z\d+/]+={0,2}$/i.test(part.data)) continue
      const message = `The data of each ${part.type} must be base64 (RFC 4648, section 4).`
      throw new Problem({ status: 400, code: 'invalid_request', message })
    }
  }
}
