import {
  defineRawTool,
  form,
  InputRequired,
  OutOfTime,
  page,
  type RunContext,
  ToolError,
  withTimeLimit,
} from 'edgecall/tool'
import { SignInNeeded } from './access.ts'
import { answersOf, Elicitations } from './elicit.ts'
import { AnswerLost, HttpFault, RpcFault } from './exchange.ts'
import { headersOf } from './headers.ts'
import { fieldsOf, textOf } from './json.ts'
import { type AskServer, expireList, type RemoteTool, warn } from './list.ts'
import { HeldBack } from './oauth/trust.ts'
import { ask } from './peer.ts'
import { readResult } from './result.ts'
import type { McpEnv, McpServer } from './servers.ts'
import { connectionService } from './sign-in.ts'

const INVALID_PARAMS = -32_602
/** What servers of older revisions answer for a resource that they do not have. */
const RESOURCE_NOT_FOUND = -32_002
const HEADER_MISMATCH = -32_020

/** Makes a tool that calls a server's tool. Throws a TypeError for an invalid schema. */
export function remoteTool(
  name: string,
  server: McpServer,
  tool: RemoteTool,
): ReturnType<typeof defineRawTool<McpEnv>> {
  const { title, description, instructions, inputSchema, outputSchema, hints, ui, relays } = tool
  const annotations = Object.entries(HINTS).flatMap(([hint, ours]) =>
    typeof hints[hint] === 'boolean' ? [[ours, hints[hint]]] : [],
  )
  return defineRawTool<McpEnv>(
    {
      name,
      ...(title !== name && { title }),
      // Policies and limits of the edge hold by the name on the server too.
      ...(tool.name !== name && { ownName: tool.name }),
      description,
      instructions,
      inputSchema,
      outputSchema,
      checkOutput: false,
      annotations: {
        ...Object.fromEntries(annotations),
        // Arguments go to a foreign server and results come from it, whatever its own hints say.
        ...(!server.trusted && { untrusted: true, openWorld: true }),
      },
      timeoutMs: server.timeoutMs,
      // Part of the digest by which a tool is accepted: the same tool of another server must be accepted again.
      metadata: { server: server.name, ...(ui && { ui }), ...(relays && { relays }) },
      // Nobody is asked about what a client reads by a tool that neither models nor apps can call.
      ...(server.approval && ui?.visibility?.length !== 0 && { approval: server.approval }),
    },
    (input, context) => callRemote(server, tool, input, context),
  )
}

const HINTS = {
  readOnlyHint: 'readOnly',
  destructiveHint: 'destructive',
  idempotentHint: 'idempotent',
  openWorldHint: 'openWorld',
}

async function callRemote(
  server: McpServer,
  { name, headers, perform }: RemoteTool,
  input: unknown,
  context: RunContext<McpEnv>,
): Promise<unknown> {
  const { asks, callId: progressToken, caller, env, progress, signal, values } = context
  const question = new AbortController()
  const answers = await finishSignIn(server, context)
  const elicitations = new Elicitations({ input: answers, asks }, () => question.abort())
  const meta = server.context.flatMap((key) => (values[key] === undefined ? [] : [[key, values[key]]]))
  const onNotice = (method: string, notice: unknown) => {
    const news = fieldsOf(notice)
    if (method === 'notifications/tools/list_changed') expireList(server)
    if (method === 'notifications/progress' && news['progressToken'] === progressToken) progress(toProgress(news))
  }
  try {
    return await withTimeLimit(
      server.timeoutMs,
      async (signal) => {
        const askServer: AskServer = (method, params) =>
          ask(env, server, caller.tenant, {
            method,
            params: { ...params, _meta: { ...Object.fromEntries(meta), progressToken } },
            newest: { params: answersOf(answers), headers: headersOf(headers, input), asks },
            traceparent: context.traceparent,
            signal,
            onNotice,
            ...(elicitations.arePossible && {
              onRequest: (method: string, params: unknown) => elicitations.answer(method, params),
            }),
          })
        if (perform) return perform(input, askServer)
        return readResult(await askServer('tools/call', { name, arguments: input }))
      },
      AbortSignal.any([signal, question.signal]),
    )
  } catch (error) {
    elicitations.demand()
    if (error instanceof SignInNeeded) throw await signInFailure(error)
    if (error instanceof HeldBack) throw heldBackFailure(server, error)
    throw error instanceof ToolError ? error : failureOf(error, server, signal)
  }
}

function toProgress({
  message,
  progress,
  total,
}: Readonly<Record<string, unknown>>): Parameters<RunContext['progress']>[0] {
  const isCounted = typeof progress === 'number' && typeof total === 'number' && total > 0
  return {
    ...(textOf(message) && { message: textOf(message) }),
    ...(isCounted && { fraction: Math.min(1, Math.max(0, progress / total)) }),
  }
}

const SIGN_IN = 'sign_in'
const SIGN_IN_CODE = 'sign_in_code'
const CODE_FORM = { type: 'object', properties: { code: { type: 'string', title: 'Code' } }, required: ['code'] }

/** Ends the sign-in that an earlier attempt at the call has asked for, with the code in its input. Returns the rest. */
async function finishSignIn(
  server: McpServer,
  { input, env, caller }: RunContext<McpEnv>,
): Promise<RunContext['input']> {
  if (!input) return undefined
  const { [SIGN_IN]: _, [SIGN_IN_CODE]: answer, ...responses } = input.responses
  const code = textOf(fieldsOf(fieldsOf(answer)['content'])['code'])
  if (code !== '') await connectionService(env).confirm(caller.tenant, server.name, code)
  return Object.keys(responses).length > 0 || input.state !== undefined ? { ...input, responses } : undefined
}

/** Returns what asks a person of the tenant to sign in; a connection of the edge is for its operators alone. */
async function signInFailure({ connection, target }: SignInNeeded): Promise<ToolError> {
  const { name, oauth, callback } = target
  if (oauth.owner === 'edge' || oauth.grant !== 'authorization_code' || callback === undefined) {
    const message = `This edge is not connected to the server "${name}". An operator must connect it.`
    return new ToolError(message, { code: 'mcp_not_connected' })
  }
  try {
    const start = await connection.signIn(target)
    if (!('url' in start) || start.url === undefined) throw new Error('nobody can sign in to it')
    const { url } = start
    return new InputRequired({
      [SIGN_IN]: page(`Sign in to ${name}.`, url, crypto.randomUUID()),
      [SIGN_IN_CODE]: form(`Enter the code that the page shows after you have signed in to ${name}.`, CODE_FORM),
    })
  } catch (cause) {
    return new ToolError(`Nobody can sign in to the server "${name}" now.`, { code: 'mcp_not_connected', cause })
  }
}

function heldBackFailure({ name }: McpServer, cause: HeldBack): ToolError {
  warn({ event: 'mcp.held_back', server: name, detail: cause.message })
  const message = `The server "${name}" is held back until an operator has checked its authorization server.`
  return new ToolError(message, { code: 'mcp_held_back', cause })
}

function failureOf(cause: unknown, server: McpServer, signal: AbortSignal): ToolError {
  if (signal.aborted) return new ToolError('The call was cancelled.', { code: 'cancelled', cause })
  if (cause instanceof OutOfTime) {
    return new ToolError('The server took too long to answer; whether it took effect is unknown.', {
      code: 'mcp_timeout',
      cause,
    })
  }
  if (cause instanceof AnswerLost) {
    const message = 'The server accepted the call, but its answer was lost; whether it took effect is unknown.'
    return new ToolError(message, { code: 'mcp_unavailable', cause })
  }
  const isDenied = cause instanceof HttpFault && (cause.status === 401 || cause.status === 403)
  if (cause instanceof HttpFault && cause.status >= 400 && cause.status !== 401 && cause.retryAfterMs !== undefined) {
    const { status, retryAfterMs } = cause
    const seconds = Math.ceil(retryAfterMs / 1000)
    const message = `The server answered ${status} and asks to wait ${seconds} seconds before the next call.`
    return new ToolError(message, { code: 'mcp_unavailable', retryable: true, retryAfterMs, cause })
  }
  if (!isDenied && cause instanceof RpcFault) {
    const { code, serverMessage } = cause
    // The server's definition of the tool has changed, or the tool is gone: its list must be read again.
    if (code === HEADER_MISMATCH || code === INVALID_PARAMS) expireList(server)
    if (code === HEADER_MISMATCH) return new ToolError('The tool has changed.', { code: 'schema_mismatch', cause })
    if (code === INVALID_PARAMS || code === RESOURCE_NOT_FOUND)
      return new ToolError(`The server refused the call: ${serverMessage}`, { code: 'mcp_refused', cause })
    return new ToolError('The server failed to run the call.', { code: 'mcp_error', cause })
  }
  const why = isDenied
    ? 'The server refused the credentials of this edge.'
    : 'The server cannot be reached now. Try again later.'
  return new ToolError(why, { code: 'mcp_unavailable', retryable: !isDenied, cause })
}
