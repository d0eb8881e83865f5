import { isObject } from '../../../contract/json.ts'
import type { ModelEvent } from '../../../contract/model.ts'
import { countAt, fieldsOf, objectsOf, textAt } from '../../fields.ts'
import { type Fields, toUsage } from '../model-answer.ts'
import { type NativeAnswer, nativeAnswers, type SpokenCall } from '../native-answer.ts'
import { ANTHROPIC, type BlockPlace } from './place.ts'

/** The codec for the answers of servers that speak Anthropic Messages. */
export const anthropicAnswers = nativeAnswers(anthropicAnswer)

/** A content block, as far as it has arrived. `text`: its text, its thinking, or the arguments of its call. */
interface Block {
  readonly value: Fields
  /** The index of the call among the answer's calls; -1 for a block that is not a call. */
  readonly call: number
  text: string
  signature: string
}

function anthropicAnswer(): NativeAnswer {
  const blocks: Block[] = []
  /** The blocks by index. If the server sends no indexes, the only entry is the latest block. */
  const byIndex = new Map<unknown, Block>()
  let calls = 0
  let hasBegun = false
  let reason = ''
  let counts: Fields = {}

  function begin(index: unknown, value: Fields, events: ModelEvent[]): Block {
    const call = value.type === 'tool_use' ? calls++ : -1
    const block = { value, call, text: '', signature: '' }
    blocks.push(block)
    byIndex.set(index, block)
    if (call >= 0) events.push({ type: 'call.delta', index: call, tool: textAt(value, 'name'), arguments: '' })
    add(block, value, events)
    return block
  }

  function add(block: Block, delta: unknown, events: ModelEvent[]): void {
    const text = textAt(delta, 'text')
    const reasoning = textAt(delta, 'thinking')
    const part = textAt(delta, 'partial_json')
    block.text += text + reasoning + part
    block.signature += textAt(delta, 'signature')
    if (text) events.push({ type: 'text', text })
    if (reasoning) events.push({ type: 'reasoning', text: reasoning })
    if (part && block.call >= 0) events.push({ type: 'call.delta', index: block.call, arguments: part })
  }

  /** Takes members of the message: its first event has some, its last the stop reason; a whole message has all. */
  function note({ usage, content, ...message }: Fields, events: ModelEvent[]): void {
    hasBegun = true
    reason ||= textAt(message, 'stop_reason')
    // The last event repeats the counts of the first, on some servers as zeros.
    counts = { ...counts, ...Object.fromEntries(Object.entries(fieldsOf(usage)).filter(([, count]) => count)) }
    for (const [index, block] of objectsOf(content).entries()) begin(index, block, events)
  }

  return {
    take: (event, events) => {
      const { type, index, delta, message, content_block, usage } = event
      if (type === 'message') note(event, events)
      else if (isObject(message)) note(message, events)
      else if (isObject(content_block)) begin(index, content_block, events)
      else if (type === 'message_delta') note({ ...fieldsOf(delta), usage }, events)
      else if (delta) add(byIndex.get(index) ?? begin(index, kindOf(delta), events), delta, events)
      return type === 'message_stop'
    },
    hasBegun: () => hasBegun,
    reason: () => reason,
    calls: () => blocks.filter(({ call }) => call >= 0).map(toCall),
    usage: () => {
      const cachedInputTokens = countAt(counts, 'cache_read_input_tokens')
      const cacheWriteTokens = countAt(counts, 'cache_creation_input_tokens')
      return toUsage({
        // `input_tokens` excludes the tokens that were read from the cache or written to it.
        inputTokens: countAt(counts, 'input_tokens') + cachedInputTokens + cacheWriteTokens,
        outputTokens: countAt(counts, 'output_tokens'),
        cachedInputTokens,
        cacheWriteTokens,
        longCacheWriteTokens: countAt(counts.cache_creation, 'ephemeral_1h_input_tokens'),
        reasoningTokens: countAt(counts.output_tokens_details, 'thinking_tokens'),
      })
    },
    opaque: () => {
      const data = blocks.flatMap(placeOf)
      return data.some(isObject) ? { codec: ANTHROPIC, data } : undefined
    },
  }
}

/** Returns the value of a block that no event began: its type is that of its fragments. */
function kindOf(delta: unknown): Fields {
  return { type: textAt(delta, 'type').replace('_delta', '') }
}

/** Converts a block to a call. Anthropic sends `input` in fragments, unless empty; others send it with the block. */
function toCall({ value, text }: Block): SpokenCall {
  const { input = {} } = value
  const completeArguments = typeof input === 'string' ? input || '{}' : JSON.stringify(input)
  return { tool: textAt(value, 'name'), arguments: text || completeArguments, isSilent: !text }
}

function placeOf({ value, call, text, signature }: Block): readonly BlockPlace[] {
  if (call >= 0) return [null]
  if (value.type === 'text') return [text.length]
  if (value.type === 'redacted_thinking') return [value]
  // Thinking that broke off before it was signed would be refused.
  return value.type === 'thinking' && signature ? [{ ...value, thinking: text, signature }] : []
}
