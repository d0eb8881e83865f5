import * as v from 'valibot'
import {
  type ConversationSettings,
  type Jurisdiction,
  JURISDICTIONS,
  type Location,
  LOCATIONS,
} from '../../contract/conversation.ts'
import { type DecodeResult, parseBody } from './body.ts'
import { optionalCount, idSchema, plainObject, runOptionSchemas, someText, integerFrom } from '../schema.ts'

/** The body of `POST /conversations`. */
export interface ConversationBody extends ConversationSettings {
  readonly id?: string
  /** The region where the conversation should be, and the jurisdiction that it must not leave. */
  readonly location?: Location
  readonly jurisdiction?: Jurisdiction
}

const id = v.exactOptional(idSchema)

const members = v.strictObject({
  id,
  location: v.exactOptional(v.picklist(LOCATIONS)),
  jurisdiction: v.exactOptional(v.picklist(JURISDICTIONS)),
  system: v.exactOptional(v.string()),
  model: v.exactOptional(someText),
  window: v.exactOptional(
    v.strictObject({
      messages: optionalCount,
      tokens: optionalCount,
      show: v.exactOptional(v.picklist(['all', 'answers', 'none'])),
      summary: v.exactOptional(v.boolean()),
    }),
  ),
  ttlSeconds: optionalCount,
  webhook: v.exactOptional(someText),
  ...runOptionSchemas,
})

// Since no member is required, `strictObject` alone would accept a list too.
export const conversationBody = v.pipe(plainObject, members)

/** Parses the settings of a new conversation. Unknown members are errors, not ignored. */
export function decodeConversationBody(body: unknown): DecodeResult<ConversationBody> {
  return parseBody(conversationBody, body)
}

export const forkBody = v.strictObject({ id, at: integerFrom(0) })

/** Parses the body of a fork: the position of the last message that the fork keeps, and the id of the fork. */
export function decodeForkBody(body: unknown): DecodeResult<{ readonly id?: string; readonly at: number }> {
  return parseBody(forkBody, body)
}
