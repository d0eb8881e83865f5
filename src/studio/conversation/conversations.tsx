import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { EdgecallError } from '../../client/request.ts'
import type { ListedRun } from '../../contract/run-list.ts'
import { useLoaded } from '../api/loaded.ts'
import { ErrorNote } from '../part/problem.tsx'
import { duration, money, moment, quantity, visible } from '../part/text.ts'
import { go, hrefOf } from '../route.ts'
import { Filters } from './filters.tsx'
import { listIds, listRuns, RUNS_PER_PAGE } from './runs.ts'

/** The pause after a key before the edge is asked. */
const SEARCH_MS = 250

/** The conversations of the tenant by their newest run, or all runs; those that a filter in the address selects. */
export function Conversations({ filter = '' }: { readonly filter?: string }): JSX.Element {
  const { state } = useLoaded(() => listRuns(filter), [filter])
  const older = useSignal<readonly ListedRun[]>([])
  const error = useSignal<unknown>(undefined)
  useEffect(() => void (older.value = []), [state.value.value])
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const search = (query: URLSearchParams) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => go({ page: 'conversations', filter: query.toString() }, true), SEARCH_MS)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  const { value, isLoading, error: problem } = state.value
  const runs = [...(value ?? []), ...older.value]
  const last = runs.at(-1)
  const loadOlder = () =>
    listRuns(filter, last?.id).then(
      (page) => (older.value = [...older.peek(), ...page]),
      (failure: unknown) => (error.value = failure),
    )
  // Pages are full but for the last one.
  const hasMore = last !== undefined && runs.length % RUNS_PER_PAGE === 0
  return (
    <div class="page">
      <h1>Conversations</h1>
      <Filters filter={filter} onChange={search} />
      {problem !== undefined && <Unlisted error={problem} />}
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {value && (
        <p class="note" role="status">
          {runs.length === 0
            ? filter === ''
              ? 'There are none yet.'
              : 'None matches.'
            : countOf(runs, filter, hasMore)}
        </p>
      )}
      <ul class="rows" aria-busy={isLoading}>
        {runs.map((run) => (
          <Item key={run.id} run={run} />
        ))}
      </ul>
      {hasMore && (
        <button type="button" onClick={loadOlder}>
          Show older ones
        </button>
      )}
    </div>
  )
}

function countOf(runs: readonly ListedRun[], filter: string, hasMore: boolean): string {
  const noun = new URLSearchParams(filter).get('latest') === 'false' ? 'run' : 'conversation'
  const cost = runs.reduce((sum, run) => sum + run.cost, 0)
  return [`${hasMore ? 'The newest ' : ''}${quantity(runs.length, noun)}`, cost > 0 && `cost ${money(cost)}`]
    .filter(Boolean)
    .join(', ')
}

function Item({ run }: { readonly run: ListedRun }): JSX.Element {
  const { id, conversation, status, created, ended, question, tools, errors, cost } = run
  return (
    <li>
      <a class="item" href={hrefOf({ page: 'chat', conversation, run: id })}>
        <span class="title two">{visible(question) || 'No question'}</span>
        <span class="note">
          <span class={`state is-${status}`}>{status}</span>
          {errors.map((code) => (
            <span key={code} class="badge bad">
              {visible(code)}
            </span>
          ))}
          {[moment(created), ended !== undefined && duration(ended - created), cost > 0 && money(cost)]
            .filter(Boolean)
            .join(' · ')}{' '}
          {tools.length > 0 && <code>{visible(tools.join(', '))}</code>}
        </span>
      </a>
    </li>
  )
}

/** Says why there is no list. An edge that lists no runs still has the ids of its conversations. */
function Unlisted({ error }: { readonly error: unknown }): JSX.Element {
  const isUnlisted = error instanceof EdgecallError && error.status === 404
  const { state } = useLoaded(async () => (isUnlisted ? listIds() : []), [isUnlisted])
  return (
    <>
      <ErrorNote error={error} />
      <ul class="rows">
        {state.value.value?.map((id) => (
          <li key={id}>
            <a class="item" href={hrefOf({ page: 'chat', conversation: id })}>
              <code>{id}</code>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
