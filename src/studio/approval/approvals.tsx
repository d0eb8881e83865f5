import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { key } from '../api/session.ts'
import { ErrorNote } from '../part/problem.tsx'
import { moment, shortened, visible } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { ApprovalForm } from '../run/approval-form.tsx'
import { watchRun } from '../run/run-store.ts'
import { callsOf } from '../run/run-view.ts'
import { isHeld, toolList } from '../tool/catalogue.ts'
import { HeldTool } from '../tool/held.tsx'
import { findWaiting, type WaitingCall, waitingCalls } from './waiting.ts'

/** Everything that waits for a person: calls of all conversations, and tools that have changed. */
export function Approvals(): JSX.Element {
  const error = useSignal<unknown>(undefined)
  const isLooking = useSignal(true)
  useEffect(() => {
    const abort = new AbortController()
    waitingCalls.value = []
    const add = (call: WaitingCall) => (waitingCalls.value = [...waitingCalls.peek(), call])
    findWaiting(add, abort.signal)
      .catch((problem: unknown) => (error.value = problem))
      .finally(() => (isLooking.value = false))
    return () => abort.abort()
  }, [key.value])
  const heldTools = toolList.value.filter(isHeld)
  const calls = waitingCalls.value
  return (
    <div class="page">
      <h1>Waiting for a person</h1>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <h2>Calls</h2>
      {calls.length === 0 && <p class="note">{isLooking.value ? 'Looking…' : 'No call waits for approval.'}</p>}
      {calls.map((each) => (
        <WaitingItem key={each.call.id} waiting={each} />
      ))}
      <h2>Tools</h2>
      {heldTools.length === 0 && <p class="note">No tool is held back.</p>}
      {heldTools.map((tool) => (
        <HeldTool key={tool.name} tool={tool} />
      ))}
    </div>
  )
}

function WaitingItem({ waiting: { address, call, question, since } }: { readonly waiting: WaitingCall }): JSX.Element {
  const store = watchRun(address)
  const view = callsOf(store.view.value).find(({ id }) => id === call.id)
  return (
    <section class="waiting">
      <p class="note">
        <a href={hrefOf({ page: 'chat', ...address, item: call.id })}>{visible(shortened(question, 120)) || 'A run'}</a>
        , {moment(since)}
      </p>
      {view?.state === 'approval' || !view ? (
        <ApprovalForm
          call={view ?? { id: call.id, tool: call.tool, arguments: JSON.stringify(call.arguments) }}
          address={address}
        />
      ) : (
        <p role="status">
          <b>{call.tool}</b> {view.approval?.decision === 'reject' ? 'was rejected.' : 'was approved.'}
        </p>
      )}
    </section>
  )
}
