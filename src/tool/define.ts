/**
 * tool/: from definition to outcome. `define`, `input-schema`, `result` and `serve` make a tool Worker; the rest is
 * the host's side. May import contract/ and wire/. `cloudflare:workers` is imported by `serve` alone.
 */
import * as v from 'valibot'
import { canonicalJson, isObject, sha256 } from '../contract/json.ts'
import type {
  Caller,
  Progress,
  ToolAnnotations,
  ToolControl,
  ToolDefinition,
  ToolOutcome,
  ToolRequest,
} from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { signalOf } from './control.ts'
import { describeIssues, toIssue, ToolError } from './fault.ts'
import { toOutcome } from './result.ts'
import { inputSchema, type ObjectSchema } from './input-schema.ts'

/** What `run` gets beside its input. */
export interface RunContext<Env = unknown> {
  /** The bindings and variables of the tool's own Worker. */
  readonly env: Env
  /** Aborts when nobody wants the outcome any more: the run was cancelled, or the call's time is up. */
  readonly signal: AbortSignal
  /** Tells readers of the run how far the call is. Never fails, and never reaches a model. */
  readonly progress: (progress: Progress | string) => void
  /** The tool context of the request, such as `{ tenantId, timeZone }`. Its values come from the caller: check them. */
  readonly values: Readonly<Record<string, unknown>>
  /** Whose key asked; verified by the edge. */
  readonly caller: Caller
  readonly conversationId?: string
  readonly runId: string
  readonly callId: string
  /** The same for every attempt at this call: keep it beside an effect so that the effect happens once. */
  readonly idempotencyKey: string
  readonly attempt: number
  /** Epoch milliseconds after which nobody waits for the outcome. */
  readonly deadline: number
}

export interface ToolOptions<Schema extends ObjectSchema, Env> {
  /** `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string
  readonly title?: string
  /** Says when to use the tool and what it answers. The model has nothing else to go by. */
  readonly description: string
  /** A Valibot object schema. `v.description(…)` on a field is read by the model. */
  readonly input: Schema
  /** Schema of the structured result, for those who read it; it is told, not enforced. */
  readonly output?: v.GenericSchema
  /** Default `1`. */
  readonly version?: string
  readonly annotations?: ToolAnnotations
  readonly returnDirect?: 'always' | 'if-last'
  readonly approval?: 'never' | 'always'
  readonly timeoutMs?: number
  readonly maxResultBytes?: number
  readonly exclusive?: boolean | string
  readonly tags?: readonly string[]
  /**
   * Does the work. What it returns becomes the result: nothing is `Success`, a string stays as it is, `content(…)`
   * gives parts such as images, anything else is JSON. To fail in a way that the model can act on, throw a `ToolError`;
   * any other exception reaches the model as a bare “failed”, and its text only the Worker's log and operators.
   */
  readonly run: (input: v.InferOutput<Schema>, context: RunContext<Env>) => unknown
}

/** A tool of this Worker: what it says of itself, and how one call of it runs. */
export interface DefinedTool<Env = unknown> {
  readonly name: string
  /** The definition with its hash, computed once. */
  readonly describe: () => Promise<ToolDefinition>
  /** Validates and runs. Contract: never rejects. */
  readonly call: (input: unknown, context: RunContext<Env>) => Promise<ToolOutcome>
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Defines a tool. Throws a TypeError at once, when the Worker starts, for a name that providers refuse, an empty
 * description, or a schema that has no JSON form.
 */
export function defineTool<const Schema extends ObjectSchema, Env = unknown>(
  options: ToolOptions<Schema, Env>,
): DefinedTool<Env> {
  const { name, description, input, output, version = '1', annotations = {}, run, ...settings } = options
  if (!NAME.test(name)) throw new TypeError(`Tool name ${JSON.stringify(name)} must match ${NAME.source}`)
  if (description.trim() === '') throw new TypeError(`Tool "${name}" needs a description: it is all the model sees`)
  const said = {
    name,
    description,
    inputSchema: inputSchema(input, `Tool "${name}": input`),
    ...(output && { outputSchema: inputSchema(output, `Tool "${name}": output`) }),
  }
  let hash: Promise<string> | undefined
  return {
    name,
    describe: async () => ({ ...said, ...settings, version, annotations, hash: await (hash ??= definitionHash(said)) }),
    call: async (value, context) => {
      try {
        const parsed = await v.safeParseAsync(input, value)
        if (!parsed.success) return failure('invalid_arguments', describeIssues(name, parsed.issues.map(toIssue)))
        return toOutcome(await run(parsed.output, context))
      } catch (error) {
        return toFailure(name, error)
      }
    },
  }
}

/** What `run` gets for a request. */
export function runContext<Env>({ context }: ToolRequest, env: Env, control?: ToolControl): RunContext<Env> {
  return {
    ...context,
    env,
    signal: signalOf(control),
    progress: (news) => {
      // Nobody is left to be told where the host is gone.
      control?.progress(typeof news === 'string' ? { message: news } : news).catch(() => {})
    },
  }
}

/** The hash by which a host knows that a tool still means what its model was told. */
export function definitionHash(
  definition: Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'outputSchema'>,
): Promise<string> {
  const { name, description, inputSchema, outputSchema } = definition
  return sha256(canonicalJson({ name, description, inputSchema, outputSchema }))
}

function toFailure(name: string, error: unknown): ToolOutcome {
  if (error instanceof ToolError) {
    const { code, message, retryable, cause } = error
    const detail = cause === undefined ? {} : { detail: textOfThrown(cause) }
    return { ok: false, error: { code, message, ...detail, ...(retryable !== undefined && { retryable }) } }
  }
  const detail = textOfThrown(error)
  console.error(`tool "${name}" threw`, detail)
  return failure('tool_failed', `The tool "${name}" failed.`, detail)
}

function textOfThrown(error: unknown): string {
  if (error instanceof Error) return error.stack ?? error.message
  return isObject(error) ? JSON.stringify(error) : String(error)
}
