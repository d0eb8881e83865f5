import { CALL_ERRORS, LOG_ERRORS, SOURCE_ERRORS } from './calls.ts'
import type { ErrorTexts } from './error-text.ts'
import { ACCESS_ERRORS, CLIENT_ERRORS, CONVERSATION_ERRORS, REQUEST_ERRORS } from './requests.ts'
import { MODEL_ERRORS, RUN_ERRORS } from './runs.ts'
import { markdownTable } from '../table.ts'

/** All error codes of an edge, by subject. */
const SUBJECTS: Readonly<Record<string, ErrorTexts>> = {
  'Access and setup': ACCESS_ERRORS,
  Requests: REQUEST_ERRORS,
  'Conversations and runs': CONVERSATION_ERRORS,
  'Failed runs': RUN_ERRORS,
  Models: MODEL_ERRORS,
  'Tool calls': CALL_ERRORS,
  'Stored tools and MCP servers': SOURCE_ERRORS,
  'The client': CLIENT_ERRORS,
  'Only in the log': LOG_ERRORS,
}

/** Returns the texts of all error codes. */
export function errorTexts(): ErrorTexts {
  return Object.assign({}, ...Object.values(SUBJECTS))
}

/** Returns docs/errors.md: a table of the error codes of each subject. */
export function errorsText(): string {
  const sections = Object.entries(SUBJECTS).map(([subject, texts]) => {
    const hasStatus = Object.values(texts).some(({ status }) => status !== undefined)
    const head = ['Code', ...(hasStatus ? ['Status'] : []), 'Cause', 'Remedy']
    const entries = Object.entries(texts).sort(([first], [second]) => (first < second ? -1 : 1))
    const rows = entries.map(([code, { status, cause, remedy }]) => [
      `\`${code}\``,
      ...(hasStatus ? [String(status ?? '')] : []),
      cause,
      remedy,
    ])
    return `## ${subject}\n\n${markdownTable([head, ...rows])}`
  })
  return `${INTRODUCTION}\n${sections.join('\n')}`
}

const INTRODUCTION = `# Errors

Every error has a stable \`code\` for programs, and a message for people, which may change.

- **HTTP errors** are \`application/problem+json\` (RFC 9457): \`{ "status", "code", "detail", "param"? }\`. Under \`/v1\` they
  are OpenAI’s error objects: \`{ "error": { "message", "type", "param", "code" } }\`.
- **A run that fails** has its code in \`error\` of \`run.finished\`. If the response has not begun, it is an HTTP error too, with the
  run’s id in \`runId\`. Once a tool call has started, the response has \`x-should-retry: false\`, so that SDKs do not repeat the request.
- **A tool call that fails** does not fail the run. The model reads the message and continues; \`toolErrors: "fail"\` changes that.

A tool can have codes of its own: the \`code\` of a \`ToolError\`.

<!-- Written by \`npm run openapi\` from src/cli/document/errors. -->
`
