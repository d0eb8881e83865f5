import type { JSX } from 'preact'
import type { Content } from '../../contract/message.ts'
import { jsonOrText } from './text.ts'
import { Value } from './value.tsx'

/** What a tool gave back: JSON as a tree, text, images, files by their type and size. */
export function Contents({
  content,
  structured,
}: {
  readonly content: readonly Content[]
  readonly structured?: unknown
}): JSX.Element {
  return (
    <>
      {content.map((part, index) => (
        <Part key={index} part={part} structured={content.length === 1 ? structured : undefined} />
      ))}
    </>
  )
}

/** Types that browsers draw as an image and nothing else. */
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp|avif)$/

function Part({ part, structured }: { readonly part: Content; readonly structured: unknown }): JSX.Element {
  if (part.type === 'text') return <Value value={structured ?? readable(part.text)} label="Result" />
  const { mediaType, data } = part
  if (IMAGE_TYPE.test(mediaType))
    return <img src={`data:${mediaType};base64,${data}`} alt="Image that the tool returned" />
  return (
    <p class="hint">
      <code>{mediaType}</code>, {Math.ceil((data.length * 3) / 4).toLocaleString('en')} bytes
    </p>
  )
}

/** Objects and lists that a text holds as JSON; of any other text the text itself. */
function readable(text: string): unknown {
  return /^\s*[[{]/.test(text) ? jsonOrText(text) : text
}
