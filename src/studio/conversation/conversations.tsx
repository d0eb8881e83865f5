import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { RunStatus } from '../../contract/run.ts'
import { useLoaded } from '../api/loaded.ts'
import { ErrorNote } from '../part/problem.tsx'
import { quantity, moment, visible } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { listIds, survey, type Surveyed } from './survey.ts'

/** The conversations that are looked into at a time. */
const PAGE = 60

const STATES: readonly (RunStatus | '')[] = ['', 'running', 'waiting', 'completed', 'failed', 'cancelled']

/** The conversations of the tenant, newest first, by what was asked last and how that run stands. */
export function Conversations(): JSX.Element {
  const { state } = useLoaded(() => listIds(), [])
  const most = useSignal(PAGE)
  const surveyed = useSignal<readonly Surveyed[]>([])
  const wanted = useSignal('')
  const status = useSignal<RunStatus | ''>('')
  const ids = state.value.value
  useEffect(() => {
    const abort = new AbortController()
    const surveyedIds = new Set(surveyed.peek().map(({ id }) => id))
    const rest = (ids ?? []).slice(0, most.value).filter((id) => !surveyedIds.has(id))
    void survey(rest, (each) => (surveyed.value = [...surveyed.peek(), each]), abort.signal)
    return () => abort.abort()
  }, [ids, most.value])
  const text = wanted.value.trim().toLowerCase()
  const items = surveyed.value
    .filter(
      ({ id, title, last }) =>
        `${id} ${title}`.toLowerCase().includes(text) && [last?.status, ''].includes(status.value),
    )
    .sort((a, b) => (b.last?.created ?? 0) - (a.last?.created ?? 0))
  return (
    <div class="page">
      <h1>Conversations</h1>
      <div class="line">
        <input
          class="grow"
          type="search"
          placeholder="Search what was asked, or an id"
          aria-label="Search conversations"
          value={wanted.value}
          onInput={(event) => (wanted.value = event.currentTarget.value)}
        />
        <select
          aria-label="Status"
          value={status.value}
          onChange={(event) => (status.value = statusOf(event.currentTarget.value))}
        >
          {STATES.map((each) => (
            <option key={each} value={each}>
              {each === '' ? 'Any status' : each}
            </option>
          ))}
        </select>
      </div>
      {state.value.error !== undefined && <ErrorNote error={state.value.error} />}
      {ids?.length === 0 && <p class="note">There are none yet.</p>}
      <ul class="rows">
        {items.map((each) => (
          <Item key={each.id} conversation={each} />
        ))}
      </ul>
      {ids && ids.length > most.value && (
        <button type="button" onClick={() => (most.value += PAGE)}>
          Look into more of {quantity(ids.length, 'conversation')}
        </button>
      )}
    </div>
  )
}

function Item({ conversation: { id, title, last } }: { readonly conversation: Surveyed }): JSX.Element {
  const run = last?.status === 'waiting' || last?.status === 'failed' ? { run: last.id } : {}
  return (
    <li>
      <a class="item" href={hrefOf({ page: 'chat', conversation: id, ...run })}>
        <span class="title">{visible(title) || 'Nothing asked yet'}</span>
        <span class="note">
          {last && <span class={`state is-${last.status}`}>{last.status}</span>}
          {last && moment(last.created)} <code>{id}</code>
        </span>
      </a>
    </li>
  )
}

function statusOf(text: string): RunStatus | '' {
  return STATES.find((status) => status === text) ?? ''
}
