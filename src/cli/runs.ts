import { isObject } from '../contract/json.ts'
import { printText, type Terminal } from './command/terminal.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'
import { addressOf } from './remote/address.ts'

export interface RunsOptions {
  readonly root: string
  /** Provides EDGECALL_KEY, and EDGECALL_URL if no `url` is given. */
  readonly env: NodeJS.ProcessEnv
  readonly url?: string | undefined
  /** `retry` has a parked run resumed; `cancel` cancels any run that has not ended. */
  readonly action: 'retry' | 'cancel'
  readonly conversation: string
  readonly run: string
}

/** Retries or cancels a run of an edge, and prints its status. Throws a Failure if the edge refuses. */
export async function changeRun({ root, env, url, ...options }: RunsOptions): Promise<void> {
  const edge = addressOf({ root, env, url })
  const { action, conversation, run } = options
  const path = `/conversations/${encodeURIComponent(conversation)}/runs/${encodeURIComponent(run)}/${action}`
  const answer = await send(edge, { method: 'POST', path })
  if (!answer.ok) throw await refusal('The run was not changed', answer)
  const reply: unknown = await answer.json()
  printText(`${run}: ${isObject(reply) ? String(reply['status']) : 'changed'}\n`)
}

/**
 * Prints the calls of an edge that wait for approval, each with its arguments, the program that makes it, if one does, and
 * the path to which a decision is posted. Throws a Failure if the edge refuses.
 */
export async function printApprovals(edge: EdgeAddress, terminal: Terminal): Promise<void> {
  const answer = await send(edge, { method: 'GET', path: '/approvals' })
  if (!answer.ok) throw await refusal('The approvals were not listed', answer)
  const list: unknown = await answer.json()
  const approvals = Array.isArray(list) ? list.filter(isObject) : []
  for (const approval of approvals) {
    terminal.emit(approval)
    terminal.print(approvalText(approval))
  }
  if (approvals.length === 0) terminal.print('Nothing waits for approval.\n')
}

/** Words an approval, as `ListedApproval` describes it. */
function approvalText(approval: Readonly<Record<string, unknown>>): string {
  const { id, tool, conversation, run, expires, program, arguments: input } = approval
  const name = String(tool)
  const lines = typeof program === 'string' ? program.split('\n') : []
  const numbered = lines.map((line, index) => {
    return `  ${line.includes(name) ? '>' : ' '} ${String(index + 1).padStart(3)}  ${line}\n`
  })
  const around = lines.length > 0 ? `  made by this program:\n${numbered.join('')}` : ''
  const path = `/conversations/${String(conversation)}/runs/${String(run)}/calls/${String(id)}`
  const call = `${name} ${input === undefined ? '(long arguments)' : JSON.stringify(input)}`
  return `${call}\n${around}  until ${new Date(Number(expires)).toISOString()}, decide by POST ${path}\n`
}
