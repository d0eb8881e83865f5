import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { EdgecallError } from '../../client/request.ts'
import type { ListedRun } from '../../contract/run-list.ts'
import { useLoaded } from '../api/loaded.ts'
import { costText } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { Empty, ErrorNote, Unloaded } from '../part/problem.tsx'
import { quantity } from '../part/text.ts'
import { go, hrefOf } from '../route.ts'
import { RunsTable } from './run-table.tsx'
import { countRuns, listIds, listRuns, mergeRuns, type RunCounts, RUNS_PER_PAGE } from './run-query.ts'
import { RunFilters, filterText } from './run-filters.tsx'

/** How often the list is loaded again while it is shown, and how often the runs are counted, in milliseconds. */
const REFRESH_MS = 4000
const COUNT_MS = 30_000

interface RunListState {
  /** The filter by which they were selected. */
  readonly filter: string
  readonly runs: readonly ListedRun[]
  readonly hasMore: boolean
  /** The runs that are new and not shown, so that no row moves under the pointer. */
  readonly heldBack: number
}

/** The runs of the tenant, newest first; those that a filter in the address selects. */
export function Runs({ filter = '' }: { readonly filter?: string }): JSX.Element {
  const list = useRunList(filter)
  const { state: counts, reload: recount } = useLoaded(() => countRuns(filter), [withoutView(filter)])
  useEvery(COUNT_MS, recount)
  const search = useRef<HTMLInputElement>(null)
  const { state, error } = list
  const isNew = state.value && state.value.runs.length === 0
  return (
    <>
      <RunFilters filter={filter} counts={counts.value.value} search={search} />
      <div class="split peeker">
        <div
          class="scroll area"
          onPointerEnter={() => list.hold(true)}
          onPointerLeave={() => list.hold(false)}
          onKeyDown={(event) => {
            if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
              event.preventDefault()
              search.current?.focus()
            }
          }}
        >
          {error.value !== undefined && !state.value && <Unlisted error={error.value} onRetry={list.reload} />}
          {error.value !== undefined && state.value && <ErrorNote error={error.value} />}
          {isNew && <NoRuns filter={filter} />}
          {!isNew && error.value === undefined && (
            <RunsTable
              runs={state.value?.runs}
              filter={filter}
              more={list.more}
              hasMore={state.value?.hasMore ?? false}
            />
          )}
        </div>
      </div>
      <Foot state={state.value} counts={counts.value.value} filter={filter} onShow={list.show} />
    </>
  )
}

interface RunListPort {
  readonly state: Signal<RunListState | undefined>
  readonly error: Signal<unknown>
  readonly reload: () => void
  /** Loads the next page. */
  readonly more: () => void
  /** Shows the runs that were held back. */
  readonly show: () => void
  readonly hold: (isHeld: boolean) => void
}

/** Loads the list, and again every few seconds. */
function useRunList(filter: string): RunListPort {
  const state = useSignal<RunListState | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isHeld = useRef(false)
  const latest = useRef<readonly ListedRun[]>([])
  const current = useRef(filter)
  current.current = filter
  const isSorted = new URLSearchParams(filter).has('sort')
  const load = async () => {
    try {
      const runs = await listRuns(filter)
      if (current.current !== filter) return
      error.value = undefined
      latest.current = runs
      const before = state.peek()
      if (before?.filter !== filter || isSorted) {
        state.value = { filter, runs, hasMore: !isSorted && runs.length === RUNS_PER_PAGE, heldBack: 0 }
      } else {
        state.value = { ...before, ...mergeRuns(before.runs, runs, isHeld.current) }
      }
    } catch (problem) {
      if (current.current === filter) error.value = problem
    }
  }
  useEffect(() => {
    // What was shown stays until the runs of the next filter are there.
    error.value = undefined
    void load()
  }, [filter])
  useEvery(REFRESH_MS, () => void load(), filter)
  const show = () => {
    const before = state.peek()
    if (before) state.value = { ...before, ...mergeRuns(before.runs, latest.current, false) }
  }
  const more = async () => {
    const before = state.peek()
    const last = before?.runs.at(-1)
    if (!before || !last) return
    try {
      const page = await listRuns(filter, last.id)
      const now = state.peek() ?? before
      state.value = { ...now, runs: [...now.runs, ...page], hasMore: page.length === RUNS_PER_PAGE }
    } catch (problem) {
      error.value = problem
    }
  }
  const hold = (isOver: boolean) => {
    isHeld.current = isOver
    if (!isOver) show()
  }
  return { state, error, reload: () => void load(), more: () => void more(), show, hold }
}

/** Does something again and again while the page is visible. */
function useEvery(ms: number, act: () => void, input: unknown = ''): void {
  const latest = useRef(act)
  latest.current = act
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), ms)
    return () => clearInterval(timer)
  }, [ms, input])
}

/** The part of a filter that selects runs: neither their status nor their order. */
function withoutView(filter: string): string {
  const query = new URLSearchParams(filter)
  query.delete('status')
  query.delete('sort')
  return query.toString()
}

interface FootProps {
  readonly state: RunListState | undefined
  readonly counts: RunCounts | undefined
  readonly filter: string
  readonly onShow: () => void
}

function Foot({ state, counts, filter, onShow }: FootProps): JSX.Element {
  const query = new URLSearchParams(filter)
  const status = query.get('status')
  const count = state?.runs.length ?? 0
  const all = useMemo(() => countOf(counts, status), [counts, status])
  const { failed = 0 } = counts?.statuses ?? {}
  const isCounted = all !== undefined && !query.has('latest')
  return (
    <div class="tfoot" role="status">
      {state && (
        <span>
          {count === 0
            ? 'No runs'
            : isCounted
              ? `1–${count.toLocaleString('en')} of ${Math.max(all, count).toLocaleString('en')}`
              : quantity(count, 'run')}
        </span>
      )}
      {counts && counts.runs > 0 && failed > 0 && (
        <span>
          {failed.toLocaleString('en')} failed ({((100 * failed) / counts.runs).toFixed(1)} %)
        </span>
      )}
      {counts && counts.cost > 0 && <span class="nophone">Cost of all: {costText(counts.cost)}</span>}
      {state && state.heldBack > 0 && (
        <button type="button" class="link" onClick={onShow}>
          Show {quantity(state.heldBack, 'new run')}
        </button>
      )}
      <span class="grow" />
      <span class="nophone" aria-hidden="true">
        <kbd>↑</kbd> <kbd>↓</kbd> select <kbd>Enter</kbd> open <kbd>/</kbd> search
      </span>
    </div>
  )
}

function countOf(counts: RunCounts | undefined, status: string | null): number | undefined {
  if (!counts || !status) return counts?.runs
  return Object.entries(counts.statuses).find(([name]) => name === status)?.[1] ?? 0
}

function NoRuns({ filter }: { readonly filter: string }): JSX.Element {
  if (filter === '') {
    return (
      <Empty
        icon="runs"
        title="No runs yet"
        text="Ask a question in the chat, or call the edge from your code. The runs of all keys of this tenant show here."
      >
        <a class="btn solid" href={hrefOf({ page: 'chat' })}>
          New chat
        </a>
      </Empty>
    )
  }
  return (
    <Empty icon="search" title={`No ${filterText(filter)}`} text="Other filters or a longer time may find some.">
      <button type="button" class="btn solid" onClick={() => go({ page: 'runs' })}>
        Clear filters
      </button>
    </Empty>
  )
}

/** Says why there is no list. An edge that lists no runs still has the ids of its conversations. */
function Unlisted({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }): JSX.Element {
  const isUnlisted = error instanceof EdgecallError && error.status === 404
  const { state } = useLoaded(async () => (isUnlisted ? listIds() : []), [isUnlisted])
  if (!isUnlisted) return <Unloaded error={error} what="The runs" onRetry={onRetry} />
  return (
    <div class="pad stack2">
      <div class="note">
        <Icon name="runs" />
        <span>
          <b>This edge lists no runs.</b> It needs the part “metrics”. These are its conversations.
        </span>
      </div>
      <ul>
        {state.value.value?.map((id) => (
          <li key={id}>
            <a class="item" href={hrefOf({ page: 'chat', conversation: id })}>
              <code>{id}</code>
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}
