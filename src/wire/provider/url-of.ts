import type { BinaryContent, LinkedContent } from '../../contract/message.ts'

/** Returns the URL of a file, which is a data URL if the file is at hand. */
export function urlOf(part: BinaryContent | LinkedContent): string {
  return 'url' in part ? part.url : `data:${part.mediaType};base64,${part.data}`
}
