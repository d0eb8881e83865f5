/**
 * tool/: from definition to outcome. `define`, `arguments`, `result` and `serve` make a tool Worker; the rest is the
 * host's side. May import contract/ and wire/. `cloudflare:workers` is imported by `serve` alone.
 */
import { canonicalJson, type JsonObject, type JsonSchema, sha256 } from '../contract/json.ts'
import type {
  Approval,
  CallStatus,
  ToolAnnotations,
  ToolDefinition,
  ToolOutcome,
  ToolSuccess,
} from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { argumentsOf } from './arguments.ts'
import { describeIssues, toFailure, ToolError } from './fault.ts'
import { inputSchema } from './input-schema.ts'
import type { Finding, KeyStatus } from './once.ts'
import { toOutcome } from './result.ts'
import type { RunContext } from './run-context.ts'
import type { InputSchema, OutputOf } from './standard.ts'
import { wireName } from './wire-name.ts'

export type { RunContext }

/** What a tool says of itself beside its arguments, and how it is to be treated. */
export interface ToolSettings {
  readonly title?: string
  /** Says when to use the tool and what it answers. The model has nothing else to go by. */
  readonly description: string
  /** Schema of the structured result, for those who read it; it is told, not enforced. */
  readonly output?: InputSchema
  /** Default `1`. */
  readonly version?: string
  readonly annotations?: ToolAnnotations
  readonly returnDirect?: 'always' | 'if-last'
  /** Which calls a person must agree to: `never`, `always`, or `{ unless }` their arguments fit. Default `never`. */
  readonly approval?: Approval
  readonly timeoutMs?: number
  readonly maxResultBytes?: number
  readonly exclusive?: boolean | string
  /** Calls of it at the same time in a run, from 1. */
  readonly maxConcurrent?: number
  /** Wants the messages of the conversation, as `context.history`. */
  readonly history?: boolean
  /** Whether a provider that can shall hold its model to the schema. */
  readonly strict?: boolean
  readonly tags?: readonly string[]
  /** Anything that the edge's hooks and listings want to know of it; a model is told none of it. Plain JSON. */
  readonly metadata?: JsonObject
}

/** What becomes of a tool's results and errors, and of calls whose outcome was lost. */
export interface ToolHandlers<Input, Env, Result> {
  /** Makes of what `run` returned what is to be told of it: a text, `content(…)`, or a value that becomes JSON. */
  readonly result?: (value: Result, context: RunContext<Env>) => unknown
  /**
   * Says what an error of `run` or `result` comes to: a text for the model, or a ToolError, which may be `fatal`.
   * Nothing stands for what happens without it. What it throws counts as what it returns, if that is a ToolError.
   */
  readonly onError?: (error: unknown, context: RunContext<Env>) => ErrorAnswer | Promise<ErrorAnswer>
  /**
   * Tells by `context.idempotencyKey` what became of a call whose outcome was lost, and changes nothing: asked before
   * the call is given up or sent again. `once(…).status(key)` is such an answer.
   */
  readonly status?: (context: RunContext<Env>, input: Input) => StatusAnswer<Result> | Promise<StatusAnswer<Result>>
  /**
   * Undoes a finished call; asked where a later call of the run has failed for good. `context.idempotencyKey` is that of
   * the call itself: an effect of undoing needs a key of its own. What it throws is the failure of undoing.
   */
  readonly undo?: (input: Input, outcome: ToolSuccess, context: RunContext<Env>) => unknown
}

export type ErrorAnswer = string | ToolError | undefined | void

/** `started`: it began, and was not seen to end; as good as `unknown`. */
export type StatusAnswer<Result> = KeyStatus | 'unknown' | Finding<Result>

export interface ToolOptions<Schema extends InputSchema, Env, Result>
  extends ToolSettings, ToolHandlers<OutputOf<Schema>, Env, Result> {
  /** Any text; providers are told its `wireName`, and it is the title where there is no other. */
  readonly name: string
  /**
   * A Valibot schema, or any that gives its JSON Schema; `jsonSchema(…)` makes one of a plain JSON Schema. What the
   * model reads of a field is its `v.description(…)`. One that is not of an object is sent as the field `input`, and
   * `run` gets what is in it.
   */
  readonly input: Schema
  /**
   * Does the work. What it returns becomes the result: nothing is `Success`, a string stays as it is, `content(…)`
   * gives parts such as images, anything else is JSON. To fail in a way that the model can act on, throw a `ToolError`;
   * any other exception reaches the model as a bare “failed”, and its text only the Worker's log and operators.
   */
  readonly run: (input: OutputOf<Schema>, context: RunContext<Env>) => Result | Promise<Result>
}

/** A tool of this Worker: what it says of itself, and how one call of it runs. */
export interface DefinedTool<Env = unknown> {
  /** As providers know it. */
  readonly name: string
  /** The definition but for its hash. */
  readonly outline: ToolOutline
  /** The definition with its hash, computed once. */
  readonly describe: () => Promise<ToolDefinition>
  /** Validates and runs. Contract: never rejects. */
  readonly call: (input: unknown, context: RunContext<Env>) => Promise<ToolOutcome>
  /** There where `outline.reconcile` is. Contract: never rejects. */
  readonly status?: (input: unknown, context: RunContext<Env>) => Promise<CallStatus>
  /** There where `outline.undo` is. Contract: never rejects. */
  readonly undo?: (input: unknown, outcome: ToolSuccess, context: RunContext<Env>) => Promise<ToolOutcome>
}

export type ToolOutline = Omit<ToolDefinition, 'hash'>

/**
 * Defines a tool. Throws a TypeError at once, when the Worker starts, for an empty name or description, and for a schema
 * that has no JSON form, with the place in it and what to do.
 */
export function defineTool<const Schema extends InputSchema, Env = unknown, Result = unknown>(
  options: ToolOptions<Schema, Env, Result>,
): DefinedTool<Env> {
  const { name: given, description, input, run, result, onError, status, undo } = options
  const name = wireName(given)
  if (description.trim() === '') throw new TypeError(`Tool "${given}" needs a description: it is all the model sees`)
  const { schema, parse } = argumentsOf(input, `Tool "${given}": input`)
  const outline = outlineOf(options, name, schema)
  const failed = (error: unknown) => toFailure(name, error)
  /** Reads the arguments and does something with them; whatever is thrown becomes an outcome. */
  const withInput = async <Made>(sent: unknown, work: (input: OutputOf<Schema>) => Promise<Made>) => {
    try {
      const parsed = await parse(sent)
      if (parsed.ok) return await work(parsed.value)
      return failure('invalid_arguments', describeIssues(name, parsed.issues))
    } catch (error) {
      return failed(error)
    }
  }
  const told = async (value: Result, context: RunContext<Env>) =>
    toOutcome(result ? await result(value, context) : value, context.compat)
  return {
    name,
    outline,
    describe: describer(outline),
    call: (sent, context) =>
      withInput(sent, async (input) => {
        try {
          return await told(await run(input, context), context)
        } catch (error) {
          return failed(await answered(error, onError && (() => onError(error, context))))
        }
      }),
    ...(status && {
      status: async (sent, context) => {
        const found = await withInput(sent, async (input): Promise<CallStatus> => {
          const answer = await status(context, input)
          if (typeof answer === 'string') return answer === 'started' ? 'unknown' : answer
          if (answer.status !== 'done') return answer.status
          const outcome = await told(answer.result, context)
          return outcome.ok ? outcome : 'done'
        })
        // What failed here is the asking, not the call.
        return typeof found === 'string' || found.ok ? found : 'unknown'
      },
    }),
    ...(undo && {
      undo: (sent, outcome, context) =>
        withInput(sent, async (input) => toOutcome(await undo(input, outcome, context))),
    }),
  }
}

/** All of a definition that its options say. */
function outlineOf<Schema extends InputSchema, Env, Result>(
  options: ToolOptions<Schema, Env, Result>,
  name: string,
  schema: JsonSchema,
): ToolOutline {
  const { name: given, description, output, version = '1', annotations = {}, status, undo, ...rest } = options
  const { input: _, run: _run, result: _result, onError: _onError, ...settings } = rest
  return {
    name,
    ...(name !== given && { title: given }),
    description,
    inputSchema: schema,
    ...(output && { outputSchema: inputSchema(output, `Tool "${given}": output`) }),
    ...settings,
    version,
    annotations,
    ...(status && { reconcile: true }),
    ...(undo && { undo: true }),
  }
}

/** What an error comes to by the tool's own `onError`. */
async function answered(error: unknown, ask: (() => ErrorAnswer | Promise<ErrorAnswer>) | undefined): Promise<unknown> {
  try {
    const answer = await ask?.()
    return typeof answer === 'string' ? new ToolError(answer, { cause: error }) : (answer ?? error)
  } catch (thrown) {
    return thrown instanceof ToolError ? thrown : error
  }
}

/** The definition of an outline; its hash is computed once. */
export function describer(outline: ToolOutline): () => Promise<ToolDefinition> {
  // The value, never its promise: that belongs to the request that made it.
  let hash: string | undefined
  return async () => {
    hash ??= await definitionHash(outline)
    return { ...outline, hash }
  }
}

/** The hash by which a host knows that a tool still means what its model was told. */
export function definitionHash(
  definition: Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'outputSchema'>,
): Promise<string> {
  const { name, description, inputSchema, outputSchema } = definition
  return sha256(canonicalJson({ name, description, inputSchema, outputSchema }))
}
