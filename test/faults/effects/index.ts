import * as v from 'valibot'
import type { ToolAnnotations } from '../../../src/contract/tool.ts'
import { defineTool, type RunContext, serveTools } from '../../../src/tool.ts'

interface Env {
  /** Base URL of the recorder. */
  readonly RECORDER: string
}

/** A tool of one delivery class. It asks the recorder for leave, then has its effect there, and answers what that says. */
function effect(name: string, annotations: ToolAnnotations, approval: 'never' | 'always' = 'never') {
  return defineTool({
    name,
    description: `Has an effect of the class ${name}.`,
    input: v.object({ what: v.string() }),
    annotations,
    approval,
    run: async ({ what }, { env, signal, ...context }: RunContext<Env>) => {
      const { conversationId, runId, callId, idempotencyKey, attempt, deadline } = context
      const call = { conversationId, runId, callId, idempotencyKey, attempt, deadline }
      const post = (path: string) =>
        fetch(`${env.RECORDER}/${path}`, {
          method: 'POST',
          body: JSON.stringify({ tool: name, what, ...call }),
          signal,
        })
      await post('calls')
      return (await post('effects')).text()
    },
  })
}

export default serveTools(
  effect('plain', {}),
  effect('idempotent', { idempotent: true }),
  effect('readOnly', { readOnly: true }),
  effect('approved', {}, 'always'),
)
