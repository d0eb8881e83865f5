import type { BinaryContent, Message, ToolMessage, UserContent, UserMessage } from '../../../contract/message.ts'

/** The files that servers of Chat Completions take in messages of the user; results name all others. */
const FILE_TYPES = /^(?:image\/(?:jpeg|png|gif|webp)|application\/pdf)$/

/** Whether any result of a request has files that are sent. */
export function hasResultFiles(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role === 'tool' && filesIn(message).length > 0)
}

/**
 * Adds the files of results: a result may only be text in this format, which names them, so that a message of the user
 * after all results of an answer has the files themselves, each with the call that it comes from.
 */
export function withResultFiles(messages: readonly Message[]): readonly Message[] {
  if (!hasResultFiles(messages)) return messages
  const all: Message[] = []
  let results: ToolMessage[] = []
  for (const [index, message] of messages.entries()) {
    all.push(message)
    if (message.role !== 'tool') continue
    if (filesIn(message).length > 0) results.push(message)
    if (messages[index + 1]?.role === 'tool' || results.length === 0) continue
    all.push(filesMessage(results))
    results = []
  }
  return all
}

/** The messages with the files of results, by the last of these results: the same object is encoded only once. */
const messagesOfFiles = new WeakMap<ToolMessage, { readonly results: readonly ToolMessage[]; message: UserMessage }>()

function filesMessage(results: readonly ToolMessage[]): UserMessage {
  const last = results.at(-1)
  const cached = last && messagesOfFiles.get(last)
  if (cached?.results.every((result, at) => result === results[at])) return cached.message
  const content = results.flatMap((result): UserContent[] => {
    const text = `The files in the result of the call ${result.callId} of the tool ${result.tool}:`
    return [{ type: 'text', text }, ...filesIn(result)]
  })
  const message: UserMessage = { role: 'user', content }
  if (last) messagesOfFiles.set(last, { results, message })
  return message
}

function filesIn({ content }: ToolMessage): readonly BinaryContent[] {
  return content.filter((part) => part.type !== 'text').filter(({ mediaType }) => FILE_TYPES.test(mediaType))
}
