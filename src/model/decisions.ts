import type { DecisionModel, DecisionReply, DecisionRequest } from '../contract/decision.ts'
import { parseJson } from '../contract/json.ts'
import type { ModelError } from '../contract/model.ts'
import { type DecisionCodec, openAiDecisionsCodec, systemOneCodec } from '../wire/provider/decisions.ts'
import { TIMED_OUT, transient } from '../wire/provider/model-error.ts'
import { explainError } from '../wire/provider/openai-chat/types.ts'
import { readText, refusedResponse } from './listen.ts'
import { type ServerOptions, withoutSlash } from './http-models.ts'

/** Makes the decision model of a provider that has this name, the part after `provider/`. */
export type DecisionModels = (name: string) => DecisionModel

/** Where a server of decision models is, and how to reach it. */
export type DecisionServer = Pick<ServerOptions, 'baseUrl' | 'apiKey' | 'provider' | 'fetch'>

/**
 * Makes the decision models of any server that speaks System One: TypeSafe, Ollama from 0.35 on, llama.cpp, a gateway.
 * `baseUrl` is the URL before `/systemone`; most end in `/v1`. Default: TypeSafe's.
 *
 * @example
 * const model = systemOne({ baseUrl: 'http://localhost:11434/v1' })('nimble')
 */
export function systemOne(options: DecisionServer = {}): DecisionModels {
  const { baseUrl = 'https://api.typesafe.ai/v1', provider = 'systemone' } = options
  return postedDecisions(options, { url: `${withoutSlash(baseUrl)}/systemone`, provider, codec: systemOneCodec })
}

/**
 * Makes the models of OpenAI's Decisions API. `baseUrl` is the URL before `/decisions`. Default: OpenAI's.
 *
 * @example
 * const model = openAiDecisions({ apiKey: textOf(env, 'OPENAI_API_KEY') })('gpt-6-luna')
 */
export function openAiDecisions(options: DecisionServer = {}): DecisionModels {
  const { baseUrl = 'https://api.openai.com/v1', provider = 'openai' } = options
  return postedDecisions(options, { url: `${withoutSlash(baseUrl)}/decisions`, provider, codec: openAiDecisionsCodec })
}

/** The `AI` binding, as far as decisions use it. */
export interface DecisionBinding {
  run(model: string, inputs: object, options: { readonly signal: AbortSignal }): Promise<unknown>
}

/**
 * Makes the decision models of Workers AI, by their names there, such as `@cf/cloudflare/clef-flash`.
 *
 * @example
 * const model = workersAiDecisions(env.AI)('@cf/cloudflare/clef-flash')
 */
export function workersAiDecisions(binding: DecisionBinding): DecisionModels {
  return (name) => ({
    name: `workers-ai/${name}`,
    decide: (request, signal) =>
      attempt(signal, async () => {
        // In the body the model has the last part of its name.
        const input = systemOneCodec.encode(name.slice(name.lastIndexOf('/') + 1), request)
        return systemOneCodec.decode(await binding.run(name, input, { signal }), request)
      }),
  })
}

interface PostedDecisions {
  readonly url: string
  readonly provider: string
  readonly codec: DecisionCodec
}

/** Makes the models of a server that gets one POST of JSON for each question. */
function postedDecisions(
  { apiKey, fetch: send = fetch }: DecisionServer,
  { url, provider, codec }: PostedDecisions,
): DecisionModels {
  const ask = async (model: string, request: DecisionRequest, signal: AbortSignal): Promise<DecisionReply> => {
    const response = await send(url, {
      method: 'POST',
      // The key and the question go to the configured server alone.
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(codec.encode(model, request)),
      signal,
    })
    if (!response.ok) return { ok: false, error: withoutKey(await refusedResponse(response, explainError), apiKey) }
    return codec.decode(parseJson(await readText(response)), request)
  }
  return (name) => ({
    name: `${provider}/${name}`,
    decide: (request, signal) => attempt(signal, () => ask(name, request, signal)),
  })
}

function withoutKey(error: ModelError, key: string | undefined): ModelError {
  return key ? { ...error, message: error.message.replaceAll(key, '[key]') } : error
}

const UNREACHABLE = transient('model_unreachable', 'The decision model cannot be reached.')
const SILENT = transient(TIMED_OUT, 'The decision model did not answer in time.')

/** Returns the reply to a question; any failure as an error. */
async function attempt(signal: AbortSignal, ask: () => Promise<DecisionReply>): Promise<DecisionReply> {
  try {
    return await ask()
  } catch {
    return { ok: false, error: signal.aborted ? SILENT : UNREACHABLE }
  }
}
