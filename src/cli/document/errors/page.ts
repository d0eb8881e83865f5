import { CALL_ERRORS, JUDGEMENT_ERRORS, LOG_ERRORS, SOURCE_ERRORS } from './calls.ts'
import type { ErrorTexts } from './error-text.ts'
import { ACCESS_ERRORS, CLIENT_ERRORS, CONVERSATION_ERRORS, REQUEST_ERRORS } from './requests.ts'
import { MODEL_ERRORS, RUN_ERRORS } from './runs.ts'
import { markdownTable } from '../table.ts'

/** The pages of error codes, each with its title and its subjects. */
const PAGES: Readonly<Record<string, readonly [title: string, subjects: Readonly<Record<string, ErrorTexts>>]>> = {
  'errors-access.md': [
    'Errors of access and setup',
    { 'Access and setup': ACCESS_ERRORS, 'Only in the log': LOG_ERRORS },
  ],
  'errors-requests.md': [
    'Errors of requests',
    { Requests: REQUEST_ERRORS, 'Stored tools and MCP servers': SOURCE_ERRORS, 'The client': CLIENT_ERRORS },
  ],
  'errors-runs.md': [
    'Errors of runs',
    { 'Conversations and runs': CONVERSATION_ERRORS, 'Failed runs': RUN_ERRORS, Models: MODEL_ERRORS },
  ],
  'errors-calls.md': ['Errors of tool calls', { 'Tool calls': CALL_ERRORS, Judgements: JUDGEMENT_ERRORS }],
}

/** Returns the texts of all error codes. */
export function errorTexts(): ErrorTexts {
  return Object.assign({}, ...Object.values(PAGES).flatMap(([, subjects]) => Object.values(subjects)))
}

/** Returns the pages of docs/ on errors, by file: a list of all codes, and pages with tables of them. */
export function errorPages(): Readonly<Record<string, string>> {
  const lists = Object.entries(PAGES).flatMap(([file, [, subjects]]) =>
    Object.entries(subjects).map(([subject, texts]) => {
      const codes = Object.keys(texts)
        .toSorted()
        .map((code) => `\`${code}\``)
      return `- **[${subject}](${file}#${subject.toLowerCase().replaceAll(' ', '-')})**: ${codes.join(', ')}\n`
    }),
  )
  const pages = Object.entries(PAGES).map(([file, [title, subjects]]) => {
    const sections = Object.entries(subjects).map(([subject, texts]) => `## ${subject}\n\n${tableOf(texts)}`)
    return [file, `# ${title}\n\n${SOURCE}\n\n${sections.join('\n')}`]
  })
  return { 'errors.md': `${INTRODUCTION}\n${SOURCE}\n\n${lists.join('')}`, ...Object.fromEntries(pages) }
}

function tableOf(texts: ErrorTexts): string {
  const hasStatus = Object.values(texts).some(({ status }) => status !== undefined)
  const head = ['Code', ...(hasStatus ? ['Status'] : []), 'Cause', 'Remedy']
  const entries = Object.entries(texts).sort(([first], [second]) => (first < second ? -1 : 1))
  const rows = entries.map(([code, { status, cause, remedy }]) => [
    `\`${code}\``,
    ...(hasStatus ? [String(status ?? '')] : []),
    cause,
    remedy,
  ])
  return markdownTable([head, ...rows])
}

const SOURCE = '<!-- Written by `npm run openapi` from src/cli/document/errors. -->'

const INTRODUCTION = `# Errors

Every error has a stable \`code\` for programs, and a message for people, which may change.

- **HTTP errors** are \`application/problem+json\` (RFC 9457): \`{ "status", "code", "detail", "param"? }\`. Under \`/v1\` they
  are OpenAI’s error objects: \`{ "error": { "message", "type", "param", "code" } }\`.
- **A run that fails** has its code in \`error\` of \`run.finished\`. If the response has not begun, it is an HTTP error too, with the
  run’s id in \`runId\`. Once a tool call has started, the response has \`x-should-retry: false\`, so that SDKs do not repeat the request.
- **A tool call that fails** does not fail the run. The model reads the message and continues; \`toolErrors: "fail"\` changes that.

A tool can have codes of its own: the \`code\` of a \`ToolError\`. The codes of the edge, by subject; each subject has a page with cause and
remedy:
`
