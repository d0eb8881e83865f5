import type { LinkedContent, Message } from '../../contract/message.ts'
import type { ModelCapabilities } from '../../contract/model.ts'
import type { Setup } from '../../contract/setup.ts'
import { Problem } from '../problem.ts'

/**
 * Returns messages with the files in place of the links that the model's server does not follow by itself. A message with
 * links is marked as untrusted, unless the edge has `CALLER_DATA=trusted`. Throws a Problem if the edge may not or cannot
 * fetch a file.
 */
export async function withFiles(
  messages: readonly Message[],
  { fetchFiles, config }: Pick<Setup, 'fetchFiles' | 'config'>,
  capabilities: ModelCapabilities | undefined,
): Promise<readonly Message[]> {
  const isPassedOn = ({ type }: LinkedContent) => (type === 'image' ? capabilities?.imageUrls : capabilities?.fileUrls)
  const marks = config.callerData === 'untrusted' ? { marks: ['untrusted'] as const } : {}
  const marked = messages.map((message) => (linksIn(message).length > 0 ? { ...message, ...marks } : message))
  const links = messages.flatMap(linksIn).filter((link) => !isPassedOn(link))
  const [first] = links
  if (!first) return marked
  if (!fetchFiles) throw unfetched(first.url, 'this edge fetches no files; send the file as a data: URL')
  const files = await fetchFiles(links, config)
  return marked.map((message) => {
    if (message.role !== 'user' || typeof message.content === 'string') return message
    return { ...message, content: message.content.map((part) => ('url' in part && files.get(part)) || part) }
  })
}

function linksIn({ role, content }: Message): readonly LinkedContent[] {
  return role !== 'user' || typeof content === 'string' ? [] : content.filter((part) => 'url' in part)
}

/** Returns the Problem of a file that is not sent to the model. */
export function unfetched(url: string, reason: string): Problem {
  const message = `The file ${url.slice(0, 200)} cannot be sent to this model: ${reason}.`
  return new Problem({ status: 400, code: 'file_not_fetched', message })
}
