import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isNewsType } from '../../contract/event.ts'
import { eventSummaries } from './events.ts'
import { markdownTable } from './table.ts'

const TEXT = 'src/wire/client/visible-text.ts'
const BLOCKS = 'src/wire/client/history.ts'

/** Who shows the events of a run, and the files that read them. What a file does not name, it ignores. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  'Chat Completions': [TEXT, 'src/wire/client/openai-chat/answer.ts'],
  Responses: [TEXT, 'src/wire/client/openai-responses/answer.ts'],
  Messages: [TEXT, 'src/wire/client/anthropic-messages/answer.ts'],
  useChat: [BLOCKS, 'src/wire/client/ui-message/stream.ts'],
  'AG-UI': [BLOCKS, 'src/wire/client/ag-ui/events.ts'],
  'the studio': ['src/studio/run/fold.ts'],
  'the terminal': ['src/cli/print.ts', 'src/cli/dev/run-log.ts'],
  'the log': ['src/observe/log.ts'],
  traces: ['src/observe/spans.ts'],
  metrics: ['src/observe/run-report.ts'],
}

/** Returns who shows each event, by its type, as the code of `root` says. */
export function readersOfEvents(root: string): Readonly<Record<string, readonly string[]>> {
  const sources = Object.entries(READERS).map(
    ([reader, files]) => [reader, files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')] as const,
  )
  return Object.fromEntries(
    Object.keys(eventSummaries()).map((type) => [
      type,
      sources.filter(([, source]) => source.includes(`'${type}'`)).map(([reader]) => reader),
    ]),
  )
}

/** Returns the page on the events of a run. */
export function runEventsPage(root: string): string {
  const readers = readersOfEvents(root)
  const rows = Object.entries(eventSummaries()).map(([type, summary]) => [
    `\`${type}\``,
    summary,
    isNewsType(type) ? 'no' : 'yes',
    readers[type]?.join(', ') ?? '',
  ])
  const table = markdownTable([['Event', 'What it says', 'Stored', 'Shown by'], ...rows])
  return `# Events of a run

What happens in a run is a list of events. \`GET /conversations/{id}/runs/{run}/events\` and a request with \`"stream": true\` have all of them, as
lines of JSON in a stream (\`text/event-stream\`); the [OpenAPI document](reference.md) has the members of each. Those that are not stored are for
readers who follow a run. A reader ignores events that it does not know. Others make what they show of some of them:

${table}`
}
