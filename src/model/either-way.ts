import { readText } from './refusal.ts'

export interface EitherWay {
  readonly model: string
  /** Models that are known to want the other way. */
  readonly others: Set<string>
  /** Sends the request. */
  readonly send: (isOther: boolean) => Promise<Response>
  /** What a refusal says that the other way may cure. Default: nothing. */
  readonly about: RegExp | undefined
  /** What it says where it will always be so. Default: the same. */
  readonly lasting?: RegExp | undefined
}

/**
 * Sends a request in one of two ways: some servers want the one and refuse the other, and none says so before it does.
 * What is refused for that is sent the other way, once.
 */
export async function eitherWay({ model, others, send, about, lasting = about }: EitherWay): Promise<Response> {
  const isOther = others.has(model)
  const response = await send(isOther)
  if (!about || ![400, 422].includes(response.status)) return response
  const text = await readText(response)
  if (!about.test(text)) return new Response(text, response)
  if (lasting?.test(text)) {
    if (isOther) others.delete(model)
    else others.add(model)
  }
  return send(!isOther)
}
