import { AgUiEncoder } from '../../wire/client/ag-ui/events.ts'
import { UI_MESSAGE_HEADERS, UiMessageEncoder } from '../../wire/client/ui-message/stream.ts'
import type { RunHandle } from '../runs/run-handle.ts'
import { answerRun } from './native.ts'
import { Problem } from '../problem.ts'
import { type StreamOptions, streamRun } from './stream.ts'

/** Answers with a run. `onFirst`: as in the options of `streamRun`. */
export type Format = (handle: RunHandle, onFirst?: StreamOptions['onFirst']) => Promise<Response>

/** The values of `?format=`: answers with a run's events, from the first on, in the formats of other protocols. */
const FORMATS: Readonly<Record<string, Format>> = {
  'ui-message': (handle, onFirst) =>
    streamRun(handle, new UiMessageEncoder(handle), { headers: UI_MESSAGE_HEADERS, onFirst }),
  'ag-ui': (handle, onFirst) => {
    const { runId, conversation = runId } = handle
    return streamRun(handle, new AgUiEncoder({ threadId: conversation, runId }), { onFirst })
  },
}

/** Returns the format in which a request wants its run. Called before the run starts, as it throws like `formatOf`. */
export function answerFormat(request: Request): Format {
  return queryFormat(request) ?? ((handle) => answerRun(request, handle))
}

/** Returns the format that `?format=` names, if it is there. Throws a Problem 400 for an unknown format. */
export function queryFormat({ url }: Request): Format | undefined {
  const name = new URL(url).searchParams.get('format')
  if (name === null) return undefined
  if (Object.hasOwn(FORMATS, name)) return FORMATS[name]
  const message = `There is no format "${name.slice(0, 80)}"; there are ${Object.keys(FORMATS).join(' and ')}.`
  throw new Problem({ status: 400, code: 'invalid_request', message, param: 'format' })
}
