import type { RunEvent } from '../../../contract/event.ts'
import { type ResponseOptions, ResponseReader } from './answer.ts'

/**
 * Makes an encoder of a run's events to the SSE text of a streamed response, whose events are numbered from 0. Those up
 * to the number `after` are left out.
 */
export function responseEncoder(
  options: ResponseOptions,
  after = -1,
): { event: (event: RunEvent) => string; end: () => string; news: 'text'; canRestart: () => boolean } {
  const reader = new ResponseReader(options)
  let number = 0
  const encode = (events: ReturnType<ResponseReader['end']>) =>
    events
      .map(({ type, ...rest }) => {
        const data = JSON.stringify({ type, sequence_number: number, ...rest })
        return number++ > after ? `event: ${type}\ndata: ${data}\n\n` : ''
      })
      .join('')
  return {
    event: (event) => encode(reader.take(event)),
    end: () => encode(reader.end()),
    news: 'text',
    canRestart: () => reader.canRestart,
  }
}
