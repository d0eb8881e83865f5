import * as v from 'valibot'
import { either, isText } from '../schema.ts'
import { parseBody } from './body.ts'
import { type Handling, type Hint, hintsIn, ignoredMembers } from './members.ts'
import { openAiFault, type OpenAiFault } from './openai-chat/request.ts'

/** What `POST /v1/embeddings` does with each member of OpenAI's request. */
export const EMBEDDING_MEMBERS = {
  model: 'honoured',
  input: 'forwarded',
  dimensions: 'forwarded',
  encoding_format: 'forwarded',
  user: 'telemetry',
} as const satisfies Readonly<Record<string, Handling>>

/** The provider checks what it is passed. */
export const embeddingBody = v.object({
  model: v.string(),
  input: either(isText, v.string(), v.array(v.unknown())),
  dimensions: v.nullish(v.number()),
  encoding_format: v.nullish(v.string()),
})

/** The body of a request for embeddings: its model, and what is passed to the provider. */
export interface EmbeddingRequest {
  readonly model: string
  readonly fields: { readonly input: string | readonly unknown[] }
  readonly ignored: readonly string[]
  readonly hints: readonly Hint[]
}

type DecodedEmbedding =
  | { readonly ok: true; readonly request: EmbeddingRequest }
  | { readonly ok: false; readonly error: OpenAiFault }

/** Parses the body of a request for embeddings. */
export function decodeEmbedding(body: unknown): DecodedEmbedding {
  const result = parseBody(embeddingBody, body)
  if (!result.ok) return { ok: false, error: openAiFault(result.error, {}) }
  const { model, ...fields } = result.request
  const ignored = ignoredMembers(body, EMBEDDING_MEMBERS)
  return { ok: true, request: { model, fields, ignored, hints: hintsIn(body, EMBEDDING_MEMBERS, 'openai') } }
}
