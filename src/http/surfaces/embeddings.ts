import { Hono } from 'hono/tiny'
import { readBody } from '../../contract/bytes.ts'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import { newId } from '../../contract/id.ts'
import { parseJson } from '../../contract/json.ts'
import type { ModelError } from '../../contract/model.ts'
import { retryAfterMs } from '../../contract/time-limit.ts'
import { countableUsage, withCost } from '../../contract/usage.ts'
import { textTokens } from '../../loop/window/tokens.ts'
import { decodeEmbedding } from '../../wire/client/embeddings.ts'
import { modelError, UNREACHABLE } from '../../wire/provider/model-error.ts'
import { explainError } from '../../wire/provider/openai-chat/types.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { Problem, unwrapRequest } from '../problem.ts'
import { readJson } from '../request-body.ts'
import { reportMembers } from '../respond/ignored.ts'
import { countSpend, shareOfBudget } from '../runs/budget.ts'
import { statusOfCode } from '../runs/start-run.ts'
import type { SurfacePart } from '../surface.ts'
import { OPENAI } from './models.ts'

const app = new Hono<EdgeEnv>()

/** `POST /v1/embeddings`: those of a provider that speaks OpenAI's formats. */
export const embeddings: SurfacePart = {
  name: 'embeddings',
  surfaces: [{ routes: { '/v1/embeddings': app }, dialect: OPENAI }],
}

/** How much of an answer is kept: a refusal, or the end of the embeddings, where servers say what they have used. */
const KEPT_BYTES = 4096

app.post('/', async (c) => {
  const { setup, caller, waitUntil } = c.env
  requireScope(caller, 'chat')
  const request = unwrapRequest(decodeEmbedding(await readJson(c.req.raw, setup.config.maxBodyBytes)))
  const { headers, hints } = reportMembers(c.env, '/v1/embeddings', request)
  const resolution = setup.models.resolve(request.model)
  const { embed, price } = resolution.ok ? resolution.model : {}
  if (!embed) {
    const message = resolution.ok ? `The model "${request.model}" makes no embeddings here.` : resolution.message
    throw new Problem({ status: 404, code: 'unknown_model', message, param: 'model' })
  }
  await shareOfBudget(c.env)
  const fail = ({ code, message, retryable, retryAfterMs: wait }: ModelError) => {
    const cleanMessage = setup.secrets?.text(message) ?? message
    const details = { code, message: cleanMessage, retryAfterMs: wait, mayRetry: retryable }
    return new Problem({ status: statusOfCode(code, 'error'), ...details })
  }
  const body = { ...request.fields, user: hints?.['openai.user'] }
  const { firstByteMs, silenceMs } = setup.config.limits
  // It does not end with the request of a caller that leaves: what it has used is counted.
  const response = await embed(body, AbortSignal.timeout(firstByteMs + silenceMs)).catch(() => {
    throw fail(UNREACHABLE)
  })
  const { status, headers: answerHeaders } = response
  if (status !== 200 || !response.body || !/\bjson\b/i.test(answerHeaders.get('content-type') ?? '')) {
    const text = new TextDecoder().decode((await readBody(response, KEPT_BYTES)).bytes)
    const fault = explainError(parseJson(text)) ?? { message: `The model server answered with status ${status}.` }
    const wait = retryAfterMs((name) => answerHeaders.get(name))
    throw fail({ ...modelError({ ...fault, status }), ...(wait !== undefined && { retryAfterMs: wait }) })
  }
  const { stream, end } = withEnd(response.body)
  if (termsOfCaller(setup, caller)?.budget) {
    const count = (text: string) => {
      const [, tokens] = /"prompt_tokens"\s*:\s*(\d+)/.exec(text) ?? []
      const inputTokens = Number(tokens ?? textTokens(JSON.stringify(request.fields.input)))
      const usage = countableUsage({ inputTokens, outputTokens: 0 })
      return countSpend(c.env, newId('run'), price ? withCost(usage, price) : usage)
    }
    waitUntil(end.then(count))
  }
  return new Response(stream, { headers: { 'content-type': 'application/json', ...headers() } })
})

/** Returns a body as it is read, and its last characters once it has been read to its end, also if its reader leaves. */
function withEnd(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const end = Promise.withResolvers<string>()
  let text = ''
  const read = async () => {
    try {
      const { done, value } = await reader.read()
      if (value) text = (text + decoder.decode(value.subarray(-KEPT_BYTES))).slice(-KEPT_BYTES)
      if (done) end.resolve(text)
      return value
    } catch (error) {
      end.resolve(text)
      throw error
    }
  }
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const bytes = await read()
      if (bytes) controller.enqueue(bytes)
      else controller.close()
    },
    cancel: async () => {
      while (await read());
    },
  })
  return { stream, end: end.promise }
}
