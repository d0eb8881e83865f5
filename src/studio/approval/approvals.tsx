import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { questionsOf } from '../../contract/input.ts'
import type { ListedApproval } from '../../contract/run-list.ts'
import { useLoaded } from '../api/loaded.ts'
import { key } from '../api/session.ts'
import { ErrorNote } from '../part/problem.tsx'
import { moment, shortened, visible } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { ApprovalForm } from '../run/approval-form.tsx'
import { isHeld, toolList } from '../tool/catalogue.ts'
import { HeldTool } from '../tool/held.tsx'
import { loadArguments, loadWaiting, waitingCalls } from './waiting.ts'

/** How often the list is loaded again while it is shown. */
const REFRESH_MS = 5000

/** Everything that waits for a person: calls of all conversations, and tools that have changed. */
export function Approvals(): JSX.Element {
  const error = useSignal<unknown>(undefined)
  const isLoaded = useSignal(false)
  /** What was decided here: it stays in its place until the page is left. */
  const decided = useSignal<ReadonlyMap<string, Decision>>(new Map())
  useEffect(() => {
    const load = async () => {
      if (document.hidden) return
      try {
        await loadWaiting()
        error.value = undefined
      } catch (problem) {
        error.value = problem
      }
      isLoaded.value = true
    }
    void load()
    const timer = setInterval(load, REFRESH_MS)
    return () => clearInterval(timer)
  }, [key.value])
  const heldTools = toolList.value.filter(isHeld)
  const open = waitingCalls.value.filter(({ id }) => !decided.value.has(id))
  const decide = (call: ListedApproval, decision: Decision['decision']) => {
    decided.value = new Map([...decided.peek(), [call.id, { call, decision }]])
  }
  return (
    <div class="page">
      <h1>Waiting for a person</h1>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <h2>Calls</h2>
      {open.length === 0 && error.value === undefined && (
        <p class="note">{isLoaded.value ? 'No call waits for approval.' : 'Loading…'}</p>
      )}
      {open.map((call) => (
        <WaitingItem key={call.id} call={call} onDecided={(decision) => decide(call, decision)} />
      ))}
      {[...decided.value.values()].map(({ call, decision }) => (
        <p key={call.id} class="note" role="status">
          <a href={hrefTo(call)}>
            <b>{visible(call.tool)}</b>
          </a>{' '}
          {decision === 'reject' ? 'was rejected.' : 'was approved.'}
        </p>
      ))}
      <h2>Tools</h2>
      {heldTools.length === 0 && <p class="note">No tool is held back.</p>}
      {heldTools.map((tool) => (
        <HeldTool key={tool.name} tool={tool} />
      ))}
    </div>
  )
}

interface Decision {
  readonly call: ListedApproval
  readonly decision: 'approve' | 'reject'
}

interface ItemProps {
  readonly call: ListedApproval
  readonly onDecided: (decision: Decision['decision']) => void
}

function WaitingItem({ call, onDecided }: ItemProps): JSX.Element {
  const { conversation, run, id, tool, question = '', since, caller, definition, input } = call
  const { state } = useLoaded(async () => call.arguments ?? loadArguments(call), [id])
  const { value, isLoading, error } = state.value
  return (
    <section class="waiting" aria-label={`${tool} of ${question}`}>
      <p class="note">
        <a href={hrefTo(call)}>{visible(shortened(question, 120)) || 'A run'}</a>
        {`, asked by ${visible(caller.key ?? caller.tenant)}, waiting since ${moment(since)}`}
      </p>
      {error !== undefined && <ErrorNote error={error} />}
      {!isLoading && error === undefined && (
        <ApprovalForm
          call={{
            id,
            tool,
            arguments: JSON.stringify(value),
            ...(input && { approval: { questions: questionsOf(input) } }),
          }}
          definition={definition}
          address={{ conversation, run }}
          onDecided={onDecided}
        />
      )}
    </section>
  )
}

function hrefTo({ conversation, run, id }: ListedApproval): string {
  return hrefOf({ page: 'chat', conversation, run, item: id })
}
