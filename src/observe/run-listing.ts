import type { PendingApproval } from '../contract/conversation.ts'
import { contentText } from '../contract/message.ts'
import type { EndedRun, UnendedRun } from '../contract/report.ts'
import { jurisdictionOf } from '../contract/placement.ts'
import type { RunRequest } from '../contract/run.ts'
import type { ListedApproval, ListedRun, RunListing } from '../contract/run-list.ts'
import type { Usage } from '../contract/usage.ts'

/** The most characters of a question, of a tool's description and of the arguments of a call that a list shows. */
const QUESTION = 200
const DESCRIPTION = 500
const ARGUMENTS = 16 * 1024
/** The most tools, and the most error codes, that a list shows of a run: a model may invent names. */
const MOST_NAMES = 50

/** How the list of runs shows one that has ended; undefined if no caller can name its conversation. */
export function endedListing({ request, acceptedAt, facts, expires }: EndedRun): RunListing | undefined {
  const tools: string[] = []
  const errors: string[] = []
  let steps = 0
  let end: Pick<ListedRun, 'status' | 'ended' | 'cost' | 'tokens' | 'limit'> | undefined
  for (const { event, at } of facts) {
    if (event.type === 'call.settled') tools.push(event.tool)
    const error = event.type === 'call.settled' || event.type === 'run.finished' ? event.error : undefined
    if (error) errors.push(error.code)
    if (event.type === 'step.answered') steps += 1
    if (event.type === 'run.finished') {
      const { status, usage, which } = event
      end = { status, ended: at, ...spentOf(usage), ...(which && { limit: which }) }
    }
  }
  const { conversation } = request
  if (conversation === undefined || end?.ended === undefined) return undefined
  const run = { ...end, ...detailsOf(request, tools, errors), steps, created: acceptedAt, conversation }
  return { run, at: end.ended, ...(expires !== undefined && { expires }), approvals: [] }
}

/** How the list of runs shows one that has not ended; undefined if no caller can name its conversation. */
export function unendedListing(unended: UnendedRun): RunListing | undefined {
  const { request, acceptedAt, status, tools, errors, steps, usage, approvals, since, at, expires } = unended
  const { conversation } = request
  if (conversation === undefined) return undefined
  const details = detailsOf(request, tools, errors)
  const run = { status, ...spentOf(usage), ...details, steps, created: acceptedAt, conversation }
  const { question } = details
  const listings = approvals.map((approval) => ({
    conversation,
    question,
    since,
    ...shortened(approval, mayLeave(conversation)),
  }))
  return { run, at, ...(expires !== undefined && { expires }), approvals: listings }
}

function spentOf({ inputTokens, outputTokens, cost = 0 }: Usage): Pick<ListedRun, 'cost' | 'tokens'> {
  return { cost, tokens: inputTokens + outputTokens }
}

/** Whether the list may show content: it is stored outside of all jurisdictions. */
function mayLeave(conversation = ''): boolean {
  return jurisdictionOf(conversation) === undefined
}

function detailsOf(
  { runId, model, input, caller, conversation }: RunRequest,
  tools: readonly string[],
  errors: readonly string[],
) {
  const question = mayLeave(conversation) ? input.findLast(({ role }) => role === 'user') : undefined
  const text = question?.role === 'user' ? contentText(question.content) : ''
  return {
    id: runId,
    question: text.slice(0, QUESTION),
    model,
    ...(caller.key !== undefined && { key: caller.key }),
    tools: [...new Set(tools)].slice(0, MOST_NAMES),
    errors: [...new Set(errors)].slice(0, MOST_NAMES),
  }
}

function shortened({ arguments: input, definition, ...approval }: PendingApproval, isShown: boolean) {
  const isShort = isShown && (JSON.stringify(input) ?? '').length <= ARGUMENTS
  if (!definition) return { ...approval, ...(isShort && { arguments: input }) }
  const { inputSchema: _inputSchema, description, ...rest } = definition
  const display = { ...rest, description: description.slice(0, DESCRIPTION) } satisfies ListedApproval['definition']
  return { ...approval, ...(isShort && { arguments: input }), definition: display }
}
