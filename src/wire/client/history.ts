import type { RunEvent } from '../../contract/event.ts'
import type { Content, Message, ToolMessage, UserContent } from '../../contract/message.ts'
import { bodyFault, type DecodeResult, type InvalidBody } from './body.ts'
import { eventId } from '../events.ts'
import * as v from 'valibot'

/**
 * Checks a caller's messages, and returns them as a model may see them: each call has exactly one result, right after
 * it and in call order, with the name of its tool. The caller may send results in any order; the last message must not
 * be the assistant's. Faults name the list `list`, and the field of a result that has the id of its call `member`.
 */
export function checkHistory(
  messages: readonly Message[],
  list: string,
  member: string,
): DecodeResult<readonly Message[]> {
  const history: Message[] = []
  /** The calls of the latest assistant message, with the results that came for them, by call id. */
  const openCalls = new Map<string, { readonly tool: string; result?: ToolMessage }>()

  function fault(index: number, callId: string, problem: string, path = `${list}[${index}]`): InvalidBody {
    return bodyFault(path, `the call "${callId}" ${problem}.`)
  }

  /** Closes the open calls: adds their results, in the order of the calls. */
  function close(index: number): InvalidBody | undefined {
    for (const [callId, { result }] of openCalls) {
      if (!result) return fault(index, callId, 'has no result')
      history.push(result)
    }
    openCalls.clear()
    return undefined
  }

  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      const { callId } = message
      const call = openCalls.get(callId)
      const path = `${list}[${index}].${member}`
      if (!call) return fault(index, callId, 'answers no call of the preceding message', path)
      if (call.result) return fault(index, callId, 'has a result already', path)
      call.result = { ...message, tool: call.tool }
      continue
    }
    const missingResult = close(index)
    if (missingResult) return missingResult
    history.push(message)
    if (message.role !== 'assistant') continue
    for (const { callId, tool } of message.calls ?? []) {
      if (openCalls.has(callId)) return fault(index, callId, 'is the id of two calls')
      openCalls.set(callId, { tool })
    }
  }
  const end = messages.length - 1
  if (end < 0) return bodyFault(list, 'must not be empty.')
  if (messages[end]?.role === 'assistant')
    return bodyFault(`${list}[${end}]`, 'must not be from the assistant, since it is the last message.')
  return close(end) ?? { ok: true, request: history }
}

/** Makes the schema of a data URL, which is converted to the media type and base64 data of a part. */
export function dataUrl(pattern = /^data:[^;,]+;base64,/) {
  return v.pipe(
    v.string(),
    v.regex(pattern, 'must be a base64 data: URL.'),
    v.transform((url) => {
      const [mediaType = '', data = ''] = url.slice('data:'.length).split(';base64,')
      return { mediaType, data }
    }),
  )
}

/** Returns the files of a result that are under a URL, with a text that says whose they are: only a message of the user links to files. */
export function linksOfResult(callId: string, parts: readonly UserContent[]): readonly UserContent[] {
  const links = parts.filter((part) => 'url' in part)
  return links.length === 0 ? [] : [{ type: 'text', text: `The files in the result of the call ${callId}:` }, ...links]
}

/** Returns a part of a result, or the text that names it. */
export function atHand(part: UserContent): Content {
  return 'url' in part ? { type: 'text', text: `[${part.type}: ${part.url}]` } : part
}

/** The content of a file without its type: its data, or where it is. */
type FileSource = { readonly mediaType: string } & ({ readonly data: string } | { readonly url: string })

/** Parses the URL of a file: an `https` URL, or a base64 data URL. Undefined for any other. */
export function fileSource(url: string, mediaType: string): FileSource | undefined {
  const [, type = mediaType, data] = /^data:([^;,]+)?[^,]*;base64,(.*)$/s.exec(url) ?? []
  if (data !== undefined) return { mediaType: type, data }
  return /^https:\/\/[^/]/i.test(url) && URL.canParse(url) ? { mediaType, url } : undefined
}

/** Makes the schema of the URL of a file, whose media type is `mediaType` unless a data URL says it. */
export function fileUrl(mediaType: string) {
  const isImage = mediaType.startsWith('image/')
  const pattern = isImage ? /^(?:https:\/\/[^/]|data:image\/[^,]*;base64,)/ : /^(?:https:\/\/[^/]|data:[^,]*;base64,)/
  return v.pipe(
    v.string(),
    v.regex(pattern, 'must be an https: URL or a base64 data: URL.'),
    v.transform((url): FileSource => fileSource(url, mediaType) ?? { mediaType, url }),
  )
}

/** A change of a block, which is text or reasoning. A block ends before the next one starts. */
export interface Block {
  readonly kind: 'text' | 'reasoning'
  readonly change: 'start' | 'delta' | 'end'
  /** The id of the block, which is the same whenever the run's events are read again. */
  readonly id: string
  /** The text that is added to the block; '' at its start and its end. */
  readonly text: string
}

/**
 * Reads the text and reasoning of a run as blocks, for formats that separate them. The answer of a step adds text that
 * no delta had; the end of the run adds text that no step had, such as results that are returned directly.
 */
export class Blocks {
  #current: Pick<Block, 'kind' | 'id'> | undefined
  /** The number of the event with which the current attempt began; 0 for a reader that joined later. */
  #begin = 0
  /** The number of blocks since then. */
  #count = 0
  /** The text and reasoning of the current step so far. */
  #stepText = { text: '', reasoning: '' }

  take(event: RunEvent): readonly Block[] {
    switch (event.type) {
      case 'text.delta':
        return this.#grow(event, 'text', event.text)
      case 'reasoning.delta':
        return this.#grow(event, 'reasoning', event.text)
      case 'step.started':
      case 'step.restarted':
      case 'answer.rejected':
        this.#stepText = { text: '', reasoning: '' }
        this.#begin = event.seq
        this.#count = 0
        return this.close()
      case 'step.answered':
      case 'answer.cut': {
        const { reasoning = '', text = '' } = event
        const blocks = [
          ...this.#grow(event, 'reasoning', missingText(reasoning, this.#stepText.reasoning)),
          ...this.#grow(event, 'text', missingText(text, this.#stepText.text)),
          ...this.close(),
        ]
        this.#stepText = { text, reasoning }
        return blocks
      }
      case 'run.finished': {
        const isNew = event.status === 'completed' && event.answer !== this.#stepText.text
        return [...this.close(), ...(isNew ? this.#grow(event, 'text', event.answer) : []), ...this.close()]
      }
      default:
        return []
    }
  }

  #grow({ runId, seq }: RunEvent, kind: Block['kind'], text: string): Block[] {
    if (text === '') return []
    this.#stepText[kind] += text
    const blocks = this.#current?.kind === kind ? [] : this.close()
    if (!this.#current) {
      // The deltas of a run are deleted in time: the number of a fact stays.
      const id = this.#begin === 0 ? eventId(runId, seq) : `${eventId(runId, this.#begin)}.${this.#count}`
      this.#count += 1
      this.#current = { kind, id }
      blocks.push({ ...this.#current, change: 'start', text: '' })
    }
    return [...blocks, { ...this.#current, change: 'delta', text }]
  }

  /** Ends the open block, if there is one; what follows begins another. */
  close(): Block[] {
    const current = this.#current
    this.#current = undefined
    return current ? [{ ...current, change: 'end', text: '' }] : []
  }
}

/**
 * Returns the part of a text that its deltas did not have; '' for a reader that joined in the middle and has received
 * the end.
 */
function missingText(text: string, readerText: string): string {
  return text.startsWith(readerText) ? text.slice(readerText.length) : ''
}
