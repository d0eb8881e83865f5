import { isObject } from '../contract/json.ts'
import { refusal, send } from './edge.ts'
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
  process.stdout.write(`${run}: ${isObject(reply) ? String(reply['status']) : 'changed'}\n`)
}
