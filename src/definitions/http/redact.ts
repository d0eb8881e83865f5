import { binaryOf } from '../../contract/secret-forms.ts'
import { secretFilter, type SecretFilter } from '../../contract/secrets.ts'

/** Removes known secrets from what a server sent back, in every form in which servers echo what they were sent. */
export interface Redactor extends SecretFilter {
  /** Redacts a stream of bytes, text or not. A secret is found wherever the chunks cut it. */
  readonly stream: (body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>
}

/** Redacts nothing. */
const NONE: Redactor = {
  text: (text) => text,
  json: (value) => value,
  pieces: () => ({ add: (piece) => piece, rest: () => '' }),
  stream: (body) => body,
}

/** Makes a redactor of the secrets of one tool, of any length. */
export function redactor(secrets: readonly string[]): Redactor {
  const filter = secretFilter(secrets, { least: 1 })
  const bytes = secretFilter(secrets, { least: 1, bytes: true })
  return filter && bytes ? { ...filter, stream: (body) => body.pipeThrough(redactBytes(bytes)) } : NONE
}

function redactBytes({ pieces }: SecretFilter): TransformStream<Uint8Array, Uint8Array> {
  const text = pieces()
  const send = (controller: TransformStreamDefaultController<Uint8Array>, piece: string) => {
    if (piece !== '') controller.enqueue(Uint8Array.from(piece, (char) => char.charCodeAt(0)))
  }
  return new TransformStream({
    transform: (chunk, controller) => send(controller, text.add(binaryOf(chunk))),
    flush: (controller) => send(controller, text.rest()),
  })
}
