import {
  type AnswerTarget,
  isMailBinding,
  type ReplyTarget,
  type ToolTarget,
  type WebhookTarget,
} from '../contract/answer-target.ts'
import { deriveRunId } from '../contract/id.ts'
import { type DataMark, mayLeak } from '../contract/message.ts'
import { ReceiverBusy, type RunReporter } from '../contract/report.ts'
import type { RunRecord, RunRequest } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import { conversationStubOfRun } from '../http/runs/conversation-stub.ts'
import { callOutsideRun } from '../http/runs/call-outside-run.ts'
import { findTool } from '../http/surfaces/tools/find-tool.ts'
import { presentCaller } from '../conversation/run/present-caller.ts'

/** How often an answer is sent before it is given up: over about eight hours. */
const MOST_ATTEMPTS = 18

/** What is needed of a run to send its answer. */
type AnsweredRun = Pick<RunRequest, 'runId' | 'conversation' | 'caller'> & {
  readonly target: AnswerTarget
  /** The marks of what the answer may be of. */
  readonly marks: readonly DataMark[]
}

/**
 * Sends the answers of runs to where their triggers say, once the runs have ended. The conversation of a run calls it
 * again later until it succeeds, so an answer may be sent twice: a webhook then has the same id, and a call the same
 * idempotency key.
 */
export function answerReporter(setup: () => Setup): RunReporter {
  return {
    name: 'answers',
    attempts: MOST_ATTEMPTS,
    openBatch: () => {
      const runs: AnsweredRun[] = []
      return {
        add: ({ request: { runId, conversation, caller, answerTo: target }, marks = allMarks }) => {
          if (target) runs.push({ runId, caller, target, conversation, marks: marks() })
        },
        send: async () => {
          for (const run of runs) await sendAnswer(setup(), run)
        },
      }
    },
  }
}

/** Sends an answer. Rejects if that may succeed later. */
async function sendAnswer(setup: Setup, run: AnsweredRun): Promise<void> {
  const { runId, caller, target } = run
  const reply = await conversationStubOfRun({ setup, caller }, run).record(runId, 0)
  const fault = reply.ok ? await sendTo(setup, run, reply.record) : reply.message
  if (fault === undefined) return
  const to = Object.keys(target).find((name) => name === 'webhook' || name === 'tool' || name === 'reply')
  setup.report({ event: 'answer.not_sent', runId, to, tenant: caller.tenant, key: caller.key, detail: fault })
}

/** Returns why an answer is not sent, and will not be later; undefined if it was sent. */
async function sendTo(setup: Setup, run: AnsweredRun, record: RunRecord): Promise<string | undefined> {
  const { target } = run
  if ('webhook' in target) return sendWebhook(setup, record, target)
  return 'tool' in target ? callWithAnswer(setup, run, record, target) : sendReply(setup, run, record, target)
}

/** What a run has read of which nothing is known. */
const allMarks = () => ['untrusted', 'private'] as const

async function sendWebhook(
  { webhooks }: Setup,
  record: RunRecord,
  { webhook }: WebhookTarget,
): Promise<string | undefined> {
  const body = webhooks?.bodyOf(record, Date.now())
  if (!webhooks || body === undefined) return 'This edge sends no webhooks.'
  let isDropped = false
  const message = { id: `${record.id}.answer`, body, attempt: 0, due: 0 }
  const outbox = { dueMessages: () => [message], drop: () => void (isDropped = true), delay: () => {} }
  await webhooks.send(outbox, webhook)
  if (!isDropped) throw new Error(`The webhook of ${record.id} was not accepted.`)
  return undefined
}

async function callWithAnswer(
  setup: Setup,
  { runId, caller: storedCaller, marks }: AnsweredRun,
  record: RunRecord,
  { tool: name, arguments: others = {}, answer }: ToolTarget,
): Promise<string | undefined> {
  const present = await presentCaller(setup, storedCaller, Date.now())
  if (present === 'unknown') throw new Error('Whether the key may still call tools cannot be checked now.')
  if (!present.ok) return present.error.message
  const { caller } = present
  const tool = await findTool(setup.tools(caller), name)
  const afterwards: Promise<unknown>[] = []
  const outcome = await callOutsideRun(tool, {
    ...{ setup, caller },
    arguments: { ...others, [answer]: answerText(record) },
    marks,
    // The same for each attempt.
    callId: await deriveRunId('answer', runId),
    request: new Request('https://triggers.invalid/answer'),
    waitUntil: (work) => void afterwards.push(work),
  })
  await Promise.all(afterwards)
  if (outcome.ok) return undefined
  const { code, message, retryable, retryAfterMs = 0 } = outcome.error
  if (retryable) throw new ReceiverBusy(`${code}: ${message}`, retryAfterMs)
  return `${code}: ${message}`
}

/** Returns the answer; of a run that has none, what became of it. */
function answerText({ id, status, answer, error }: RunRecord): string {
  if (answer !== '') return answer
  return `The run ${id} is ${status}${error ? `: ${error.message}` : '.'}`
}

/** Returns why the answer of a run that has read such data goes to nobody by itself; undefined if it may. */
export function reasonToWithhold(
  { config }: Pick<Setup, 'config'>,
  marks: readonly DataMark[] = allMarks(),
): string | undefined {
  if (!config.taintRule || !mayLeak(marks)) return undefined
  return 'The run has read both untrusted and private data, and no person has seen the answer.'
}

async function sendReply(
  setup: Setup,
  { marks }: AnsweredRun,
  { status, answer }: RunRecord,
  { reply: { binding, ...mail } }: ReplyTarget,
): Promise<string | undefined> {
  // People outside are not told why a run has failed.
  if (status !== 'completed' || answer === '') return `The run is ${status} and has no answer to send.`
  const reason = reasonToWithhold(setup, marks)
  if (reason !== undefined) return reason
  const sender = setup.triggerEnv?.[binding]
  if (!isMailBinding(sender)) return `${binding} is not bound: it must be a [[send_email]] binding.`
  await sender.send({ ...mail, text: answer })
  return undefined
}
