import type { RunEvent } from '../contract/event.ts'
import { AgUiEncoder } from '../wire/ag-ui/events.ts'
import { UI_MESSAGE_HEADERS, UiMessageEncoder } from '../wire/ui-message/stream.ts'
import type { Launched } from './launch.ts'
import { answerRun, runHeaders } from './native.ts'
import { throwIfFailed } from './outcome.ts'
import { Problem } from './problem.ts'
import { type EventEncoder, streamRun } from './stream.ts'

/** Answers with a run. `onFirst` gets the first event that a reader sees; by default it throws if that is a failure. */
export type Format = (launched: Launched, onFirst?: (event: RunEvent) => void) => Promise<Response>

/** The answers that tell a run's events from the start, as another protocol has them. */
const FORMATS: Readonly<Record<string, Format>> = {
  'ui-message': (launched, onFirst) => tell(launched, new UiMessageEncoder(launched), onFirst, UI_MESSAGE_HEADERS),
  'ag-ui': (launched, onFirst) => {
    const { runId, conversation = runId } = launched
    return tell(launched, new AgUiEncoder({ threadId: conversation, runId }), onFirst)
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

function tell(
  launched: Launched,
  encoder: EventEncoder,
  onFirst: (event: RunEvent) => void = throwIfFailed,
  headers: Record<string, string> = {},
): Promise<Response> {
  return streamRun(launched, encoder, { headers: { ...runHeaders(launched), ...headers }, onFirst })
}
