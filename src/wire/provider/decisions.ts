import type { DecisionReply, DecisionRequest } from '../../contract/decision.ts'
import { isObject } from '../../contract/json.ts'
import type { Usage } from '../../contract/usage.ts'
import { countAt, fieldsOf, objectsOf } from '../fields.ts'
import { badResponse, modelError } from './model-error.ts'

/** How a server of decision models is asked one question. */
export interface DecisionCodec {
  /** Returns the body of the request. */
  encode(model: string, request: DecisionRequest): object
  /** Returns what the body of an answer says. A body that does not answer the question is an error. */
  decode(body: unknown, request: DecisionRequest): DecisionReply
}

/** The name of the question in a request. Models are not told of it. */
const QUESTION = 'decision'

/**
 * System One: `POST /v1/systemone`, which TypeSafe, Ollama, llama.cpp and others serve, and which decision models on
 * Workers AI take as their input. The platform's REST API wraps its answers in `result`.
 */
export const systemOneCodec: DecisionCodec = {
  encode: (model, { instructions, input, answers }) => ({
    model,
    state: input,
    questions: { [QUESTION]: { type: 'choice', instructions, criteria: answers } },
  }),
  decode: (body, request) => {
    const { result = body, success = true } = fieldsOf(body)
    if (success !== true) return MALFORMED
    const { answers, usage } = fieldsOf(result)
    const { type, choice, probabilities } = fieldsOf(fieldsOf(answers)[QUESTION])
    if (type !== 'choice') return MALFORMED
    return decided(request, { answer: choice, probabilities: fieldsOf(probabilities), usage: usageOf(usage) })
  },
}

/** OpenAI's Decisions API: `POST /v1/decisions`. The model may refuse to answer. */
export const openAiDecisionsCodec: DecisionCodec = {
  encode: (model, { instructions, input, answers }) => ({
    model,
    input: JSON.stringify(input),
    questions: [
      {
        type: 'choice',
        name: QUESTION,
        instructions,
        choices: Object.entries(answers).map(([value, description]) => ({ value, description })),
      },
    ],
  }),
  decode: (body, request) => {
    const { answers, usage } = fieldsOf(body)
    const { type, choice, probabilities } = objectsOf(answers).find(({ name }) => name === QUESTION) ?? {}
    if (type === 'refusal') return REFUSAL
    if (type !== 'choice') return MALFORMED
    const pairs = objectsOf(probabilities).map(({ value, probability }) => [String(value), probability] as const)
    const isOnce = new Set(pairs.map(([name]) => name)).size === pairs.length
    if (!isOnce) return MALFORMED
    return decided(request, { answer: choice, probabilities: Object.fromEntries(pairs), usage: usageOf(usage) })
  },
}

const MALFORMED: DecisionReply = {
  ok: false,
  error: badResponse('The decision model answered something else than the question.'),
}

const REFUSAL: DecisionReply = {
  ok: false,
  error: modelError({ message: 'The decision model refused to answer.', status: 400 }),
}

/** How far probabilities may miss a sum of 1: servers round them, and a question may have 255 answers. */
const MOST_MISSING = 0.05

/** Makes the reply of an answer, if it is one of those asked for, the most likely one, and each has a probability. */
function decided(
  { answers }: DecisionRequest,
  reply: { readonly answer: unknown; readonly probabilities: object; readonly usage: Usage | undefined },
): DecisionReply {
  const { answer, usage } = reply
  const names = Object.keys(answers)
  const shares = new Map<string, unknown>(Object.entries(reply.probabilities))
  const entries: [string, number][] = []
  for (const name of names) {
    const share = shares.get(name)
    if (typeof share !== 'number' || !(share >= 0 && share <= 1)) return MALFORMED
    entries.push([name, share])
  }
  const values = entries.map(([, share]) => share)
  const isWhole = Math.abs(values.reduce((sum, value) => sum + value, 0) - 1) <= MOST_MISSING
  if (!isWhole || shares.size !== names.length || typeof answer !== 'string') return MALFORMED
  if (shares.get(answer) !== Math.max(...values)) return MALFORMED
  // A name may be `__proto__`, which no assignment would set.
  const probabilities = Object.fromEntries(entries)
  return { ok: true, answer, probabilities, usage }
}

/** Reads the usage, which both formats name alike. */
function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const cachedInputTokens = countAt(usage['input_tokens_details'], 'cached_tokens')
  return {
    inputTokens: countAt(usage, 'input_tokens'),
    outputTokens: countAt(usage, 'output_tokens'),
    ...(cachedInputTokens > 0 && { cachedInputTokens }),
  }
}
