import type { JsonSchema } from '../../contract/json.ts'
import { count, flag, list, object, ref, text } from './json-schema.ts'

const OBJECT = { type: 'object' }
const TEXT_OR_NULL = { type: ['string', 'null'] }

/** The schemas of answers in the formats of the AI SDK, AG-UI and Anthropic. */
export const CLIENT_ANSWERS: Readonly<Record<string, JsonSchema>> = {
  UiMessage: {
    ...object(
      { id: text, role: { enum: ['user', 'assistant'] }, parts: list(object({ type: text })) },
      { metadata: OBJECT },
    ),
    description:
      'A `UIMessage` of the AI SDK. The id of an answer is that of its run. `metadata.marks` says what data the message has: `untrusted`, `private`.',
  },
  AgUiThread: {
    ...object(
      {
        threadId: text,
        messages: list(object({ id: text, role: text }, { metadata: OBJECT })),
        interrupts: list(object({ id: text, reason: text })),
        pendingToolCallIds: list(text),
      },
      { runId: text },
    ),
    description:
      'Messages and interrupts of AG-UI. `runId`: the run in progress, whose messages are left out; `GET /conversations/{id}/runs/{run}/events?format=ag-ui` has them.',
  },
  Embeddings: {
    ...object(
      {
        object: { const: 'list' },
        data: list(
          object({
            object: { const: 'embedding' },
            index: { type: 'integer' },
            embedding: { anyOf: [list({ type: 'number' }), text] },
          }),
        ),
        model: text,
      },
      { usage: OBJECT },
    ),
    description: 'OpenAI’s list of embeddings: numbers, or the bytes of 32-bit floats in base64.',
  },
  AnthropicMessage: {
    ...object({
      id: text,
      type: { const: 'message' },
      role: { const: 'assistant' },
      model: text,
      content: list(object({ type: text }, { text, thinking: text, id: text, name: text, input: {} })),
      stop_reason: { enum: ['end_turn', 'tool_use', 'max_tokens', 'refusal'] },
      usage: object(
        { input_tokens: count, output_tokens: count },
        { cache_read_input_tokens: count, cache_creation_input_tokens: count },
      ),
      edgecall: ref('Report'),
    }),
    description: 'Anthropic’s `Message`. Calls that ran at the edge are listed in `edgecall`.',
  },
  AnthropicEvent: {
    ...object({
      type: {
        enum: [
          'message_start',
          'ping',
          'content_block_start',
          'content_block_delta',
          'content_block_stop',
          'message_delta',
          'message_stop',
          'error',
        ],
      },
    }),
    description: 'An event of Anthropic’s streams, with the members that it has there.',
    additionalProperties: true,
  },
  AnthropicModel: {
    ...object({
      type: { const: 'model' },
      id: text,
      display_name: text,
      created_at: text,
      max_input_tokens: count,
      max_tokens: { type: ['integer', 'null'] },
    }),
    description: 'A model as Anthropic’s API describes it, for requests with the header `anthropic-version`.',
  },
  AnthropicModelList: object({
    data: list(ref('AnthropicModel')),
    has_more: flag,
    first_id: TEXT_OR_NULL,
    last_id: TEXT_OR_NULL,
  }),
}
