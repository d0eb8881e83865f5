import * as v from 'valibot'
import { defineTool, type RawDefinition, type RunContext, serveTools, ToolError } from 'edgecall/tool'

interface Env {
  /** Base URL of the server that says what each call does. */
  readonly CONTROL: string
}

/** Makes a tool that asks the server what to answer. The server may hold its answer back as long as it likes. */
function controlled(
  name: string,
  options: Pick<Partial<RawDefinition>, 'annotations' | 'approval'> & { readonly canUndo?: boolean } = {},
) {
  const { canUndo, ...rest } = options
  const ask = async (phase: string, { env, conversationId, idempotencyKey, attempt }: RunContext<Env>) => {
    const url = `${env.CONTROL}/${conversationId}/${name}/${phase}`
    const body = JSON.stringify({ idempotencyKey, attempt })
    const response = await fetch(url, { method: 'POST', body })
    if (!response.ok) throw new ToolError(await response.text())
    return response.text()
  }
  return defineTool({
    name,
    description: `Does what the server says for "${name}".`,
    input: v.object({}),
    ...rest,
    run: (_, context: RunContext<Env>) => ask('call', context),
    ...(canUndo && { undo: (_input: {}, _outcome: unknown, context: RunContext<Env>) => ask('undo', context) }),
  })
}

/** Answers once the server has an answer, which it is asked for every second. */
const survey = defineTool({
  name: 'survey',
  description: 'Asks many people, and answers a day later.',
  input: v.object({}),
  run: (_, { later }: RunContext<Env>) => later({ within: 86_400_000, poll: 1000 }),
  poll: async (_input: {}, _state, { env, conversationId, later }: RunContext<Env>) => {
    const response = await fetch(`${env.CONTROL}/${conversationId}/survey/poll`)
    return response.status === 204 ? later({ within: 86_400_000, poll: 1000 }) : response.text()
  },
})

export default serveTools(
  survey,
  controlled('lookUp', { annotations: { readOnly: true } }),
  controlled('note', { annotations: { idempotent: true } }),
  controlled('send'),
  controlled('pay', { approval: 'always' }),
  controlled('book', { canUndo: true }),
  controlled('confirm'),
)
