import { isObject, parseShallow } from '../../../contract/json.ts'
import type { Message } from '../../../contract/message.ts'
import { summaryMessage } from '../summary.ts'
import { base64Of, textOfBase64 } from './output.ts'

/*
 * A compaction stands for the answers, calls and results before it. OpenAI's is encrypted; that of the edge is the summary as
 * base64.
 */

const PREFIX = 'edgecall.summary.'

/** Makes the item of a compaction. `id`: without its prefix. */
export function compactionItem(id: string, summary: string) {
  return { id: `cmp_${id}`, type: 'compaction', encrypted_content: PREFIX + base64Of({ summary }) } as const
}

/** Returns the message that tells a model of a compaction; undefined if no edge made it. */
export function readCompaction(content: string): Message | undefined {
  const value = content.startsWith(PREFIX) ? parseShallow(textOfBase64(content.slice(PREFIX.length))) : undefined
  const summary = isObject(value) ? value['summary'] : undefined
  return typeof summary === 'string' ? summaryMessage(summary) : undefined
}

/** Returns a request of `POST /v1/responses/compact` as one for a response, whose last item asks for a summary. */
export function askForSummary(json: unknown): unknown {
  if (!isObject(json)) return json
  const { input, stream: _stream, background: _background, ...rest } = json
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? [])
  return { ...rest, input: Array.isArray(items) ? [...items, { type: 'compaction_trigger' }] : items }
}
