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

export default serveTools(
  controlled('lookUp', { annotations: { readOnly: true } }),
  controlled('note', { annotations: { idempotent: true } }),
  controlled('send'),
  controlled('pay', { approval: 'always' }),
  controlled('book', { canUndo: true }),
  controlled('confirm'),
)
