/**
 * A fake mail service for development and tests: the contract of `service.ts` as a function like `fetch`. It sends
 * nothing, and its answers are marked `source: "stand-in"`. Special mailboxes simulate failures:
 *
 *     bounce@stand-in.example    422
 *     busy@stand-in.example      503
 *     broken@stand-in.example    500
 *     lost@stand-in.example      never answers
 */

/** Answers a request. Rejects with the signal's reason when the signal aborts, as `fetch` does. */
export async function standIn(request: Request): Promise<Response> {
  request.signal.throwIfAborted()
  const { to } = await request.json<{ to: string }>()
  switch (to.toLowerCase()) {
    case 'bounce@stand-in.example':
      return Response.json({ message: `There is no mailbox ${to}.` }, { status: 422 })
    case 'busy@stand-in.example':
      return new Response(null, { status: 503 })
    case 'broken@stand-in.example':
      return new Response(null, { status: 500 })
    case 'lost@stand-in.example':
      return aborted(request.signal)
    default:
      return Response.json({ id: `stand-in-${crypto.randomUUID()}`, source: 'stand-in' }, { status: 202 })
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
