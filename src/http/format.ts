import { AgUiEncoder } from '../wire/ag-ui/events.ts'
import { UI_MESSAGE_HEADERS, UiMessageEncoder } from '../wire/ui-message/stream.ts'
import type { Launched } from './launched.ts'
import { answerRun } from './native.ts'
import { Problem } from './problem.ts'
import { type StreamOptions, streamRun } from './stream.ts'

/** Answers with a run; `onFirst` as of `streamRun`. */
export type Format = (launched: Launched, onFirst?: StreamOptions['onFirst']) => Promise<Response>

/** The answers that tell a run's events from the start, as another protocol has them. */
const FORMATS: Readonly<Record<string, Format>> = {
  'ui-message': (launched, onFirst) =>
    streamRun(launched, new UiMessageEncoder(launched), { headers: UI_MESSAGE_HEADERS, onFirst }),
  'ag-ui': (launched, onFirst) => {
    const { runId, conversation = runId } = launched
    return streamRun(launched, new AgUiEncoder({ threadId: conversation, runId }), { onFirst })
  },
}

/** How a request wants its run, to be asked before that begins. Throws as `formatOf`. */
export function answering(request: Request): Format {
  return formatOf(request) ?? ((launched) => answerRun(request, launched))
}

/** The format that a request names in its query. Throws a Problem for one that there is none of. */
export function formatOf({ url }: Request): Format | undefined {
  const name = new URL(url).searchParams.get('format')
  if (name === null) return undefined
  if (Object.hasOwn(FORMATS, name)) return FORMATS[name]
  const message = `There is no format "${name.slice(0, 80)}"; there are ${Object.keys(FORMATS).join(' and ')}.`
  throw new Problem({ status: 400, code: 'invalid_request', message, param: 'format' })
}
