import { isObject } from '../contract/json.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'
import { Failure } from './failure.ts'

export interface RunsOptions {
  /** Provides EDGECALL_KEY, and EDGECALL_URL if no `url` is given. */
  readonly env: NodeJS.ProcessEnv
  readonly url?: string | undefined
  /** `retry` has a parked run resumed; `cancel` cancels any run that has not ended. */
  readonly action: 'retry' | 'cancel'
  readonly conversation: string
  readonly run: string
}

/** Retries or cancels a run of an edge, and prints its status. Throws a Failure if the edge refuses. */
export async function changeRun({ env, url = env['EDGECALL_URL'] ?? '', ...options }: RunsOptions): Promise<void> {
  if (url === '') throw new Failure('Say where the edge is: --url https://…, or EDGECALL_URL.')
  const edge: EdgeAddress = { url: url.replace(/\/+$/, ''), key: env['EDGECALL_KEY'] }
  const { action, conversation, run } = options
  const path = `/conversations/${encodeURIComponent(conversation)}/runs/${encodeURIComponent(run)}/${action}`
  const answer = await send(edge, { method: 'POST', path })
  if (!answer.ok) throw await refusal('The run was not changed', answer)
  const reply: unknown = await answer.json()
  process.stdout.write(`${run}: ${isObject(reply) ? String(reply['status']) : 'changed'}\n`)
}
