import { expect, test } from 'vitest'
import type { ChatModel } from '../../src/contract/model.ts'
import { playServer } from '../fixtures/play-server.ts'

/** The bodies of two answers in a format: a call of no tool with the argument `zone`, and the text “Sorry.”. */
export interface NamelessCall {
  readonly call: object
  readonly text: object
}

/** Tests that a run continues after a call without a name, with the model behind a server that sends these answers. */
export function namelessCallSuite(
  format: string,
  make: (baseUrl: string) => ChatModel,
  { call, text }: NamelessCall,
): void {
  test(`a call without a name in ${format} is answered with what is wrong, and the run continues`, async () => {
    const { finished, requests } = await playServer([call, text], make)
    expect(finished).toMatchObject({ status: 'completed', answer: 'Sorry.' })
    const request = JSON.stringify(requests[1])
    expect(request).toContain(String.raw`The call names no tool. Call one that is on offer, such as \"clock\".`)
    // Servers refuse a history in which a call has no name.
    expect(request).toContain('"name":"unnamed"')
    expect(request).not.toContain('"name":""')
  })
}
