/** When each stream that is under way has ended, by the body of its response. */
const endings = new WeakMap<ReadableStream, Promise<unknown>>()

/** Makes the request of a stream count as open until `ended` settles. Returns the stream. */
export function openUntil<Body extends ReadableStream>(body: Body, ended: Promise<unknown>): Body {
  endings.set(body, ended)
  return body
}

/** Passes a stream of another Worker on, whose request counts as open until it ends or is cancelled. */
export function passThrough(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  // In workerd, an identity stream passes bytes on outside of JavaScript.
  const Identity = typeof IdentityTransformStream === 'undefined' ? TransformStream : IdentityTransformStream
  const { readable, writable } = new Identity()
  return openUntil(
    readable,
    body.pipeTo(writable).catch(() => {}),
  )
}

/** Returns when the stream of a response ends; undefined for any other response. */
export function endOf({ body }: Response): Promise<unknown> | undefined {
  return body ? endings.get(body) : undefined
}
