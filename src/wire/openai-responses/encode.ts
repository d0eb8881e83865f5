import type { RunEvent } from '../../contract/event.ts'
import { type ResponseOptions, ResponseReader } from './answer.ts'

/** Turns a run's events into the text of a streamed response, its events numbered from 0. */
export function responseEncoder(options: ResponseOptions): { event: (event: RunEvent) => string; end: () => string } {
  const reader = new ResponseReader(options)
  let number = 0
  const encode = (events: ReturnType<ResponseReader['end']>) =>
    events
      .map(({ type, ...rest }) => {
        const data = JSON.stringify({ type, sequence_number: number++, ...rest })
        return `event: ${type}\ndata: ${data}\n\n`
      })
      .join('')
  return { event: (event) => encode(reader.take(event)), end: () => encode(reader.end()) }
}
