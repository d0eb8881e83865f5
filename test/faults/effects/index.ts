import * as v from 'valibot'
import type { ToolAnnotations } from '../../../src/contract/tool-definition.ts'
import { defineTool, type RunContext, serveTools } from '../../../src/tool.ts'

interface Env {
  /** Base URL of the recorder. */
  readonly RECORDER: string
}

interface EffectOptions {
  readonly annotations?: ToolAnnotations
  readonly approval?: 'never' | 'always'
  /** Whether it has its effect at once, and answers with it at a later poll. */
  readonly isLater?: boolean
  /** What the tool says of a call whose outcome was lost; `found` is what its effect was answered, '' without one. */
  readonly tells?: (
    matches: string,
  ) => 'done' | 'absent' | 'unknown' | { readonly status: 'done'; readonly result: string }
}

/** A tool of one delivery class. It asks the recorder for leave, then has its effect there, and answers what that says. */
function effect(name: string, { annotations = {}, approval = 'never', tells, isLater = false }: EffectOptions = {}) {
  const post = async (path: string, what: string, { env, signal, ...context }: RunContext<Env>) => {
    const { conversationId, runId, callId, idempotencyKey, attempt, deadline } = context
    const call = { conversationId, runId, callId, idempotencyKey, attempt, deadline }
    const body = JSON.stringify({ tool: name, what, ...call })
    return (await fetch(`${env.RECORDER}/${path}`, { method: 'POST', body, signal })).text()
  }
  return defineTool({
    name,
    description: `Has an effect of the class ${name}.`,
    input: v.object({ what: v.string() }),
    annotations,
    approval,
    run: async ({ what }, context: RunContext<Env>) => {
      await post('calls', what, context)
      const text = await post('effects', what, context)
      return isLater ? context.later({ within: 60_000, poll: 1000 }) : text
    },
    ...(isLater && {
      poll: ({ what }: { what: string }, _state: string | undefined, context: RunContext<Env>) =>
        post('status', what, context),
    }),
    ...(tells && {
      status: async (context: RunContext<Env>, { what }: { what: string }) =>
        tells(await post('status', what, context)),
    }),
  })
}

export default serveTools(
  effect('plain'),
  effect('idempotent', { annotations: { idempotent: true } }),
  effect('readOnly', { annotations: { readOnly: true } }),
  effect('approved', { approval: 'always' }),
  effect('wordy'),
  effect('later', { isLater: true }),
  effect('tellsOutcome', { tells: (matches) => (matches === '' ? 'absent' : { status: 'done', result: matches }) }),
  effect('tellsDone', { tells: (matches) => (matches === '' ? 'absent' : 'done') }),
  effect('tellsNothing', { tells: () => 'unknown' }),
)
