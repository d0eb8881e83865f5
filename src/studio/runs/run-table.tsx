import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ListedRun } from '../../contract/run-list.ts'
import { Icon } from '../part/icon.tsx'
import { memo } from '../part/memo.tsx'
import { runLook, State } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { go, hrefOf } from '../route.ts'
import { type RunColumn, shownColumns } from './columns.tsx'

interface TableProps {
  /** Undefined while they are loaded. */
  readonly runs: readonly ListedRun[] | undefined
  readonly filter: string
  readonly hasMore: boolean
  readonly more: () => void
}

/** How long a list may take before its place is shown, in milliseconds. */
const PATIENCE_MS = 300

/** The runs as a table. Arrow keys move from row to row; a row leads to its run. */
export function RunsTable({ runs, filter, hasMore, more }: TableProps): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null)
  const columns = shownColumns()
  return (
    <>
      <table class="table" aria-label="Runs" aria-busy={runs === undefined}>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Question</th>
            {columns.map((column) => (
              <ColumnHead key={column.name} column={column} filter={filter} />
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={(event) => moveFocus(event, body.current)}>
          {runs ? runs.map((run) => <RunRow key={run.id} run={run} columns={columns} />) : <Bones columns={columns} />}
        </tbody>
      </table>
      {hasMore && (
        <div class="pad">
          <button type="button" class="btn" onClick={more}>
            Show older runs
          </button>
        </div>
      )}
    </>
  )
}

function ColumnHead({ column, filter }: { readonly column: RunColumn; readonly filter: string }): JSX.Element {
  const { name, sort } = column
  const look = column.look.replace(/ ?(?:fit|dim|faint|mono)/g, '')
  if (!sort) {
    return (
      <th scope="col" class={look}>
        {name}
      </th>
    )
  }
  const query = new URLSearchParams(filter)
  const isSorted = (query.get('sort') ?? 'newest') === sort
  const change = () => {
    if (sort === 'newest') query.delete('sort')
    else query.set('sort', sort)
    if (sort !== 'newest') query.delete('latest')
    go({ page: 'runs', filter: query.toString() })
  }
  return (
    <th scope="col" class={look} aria-sort={isSorted ? 'descending' : undefined}>
      <button
        type="button"
        onClick={change}
        title={sort === 'newest' ? 'The newest first' : `Sort by ${name.toLowerCase()}`}
      >
        {name}
        {isSorted && <Icon name="down" isSmall />}
      </button>
    </th>
  )
}

interface RowProps {
  readonly run: ListedRun
  readonly columns: readonly RunColumn[]
}

const RunRow = memo(
  ShownRow,
  (before, after) =>
    before.columns.length === after.columns.length &&
    before.columns.every((column, index) => column === after.columns[index]) &&
    JSON.stringify(before.run) === JSON.stringify(after.run),
)

function ShownRow({ run, columns }: RowProps): JSX.Element {
  const { id, conversation, status, question, limit } = run
  return (
    <tr>
      <td>
        <State look={runLook(status, limit)} />
      </td>
      <td class="wide">
        <a href={hrefOf({ page: 'run', conversation, run: id })} title={visible(question)}>
          {visible(question) || 'No question'}
        </a>
      </td>
      {columns.map(({ name, look, cell, title }) => (
        <td key={name} class={look} title={title?.(run)}>
          {cell(run)}
        </td>
      ))}
    </tr>
  )
}

/** Moves the focus to the row above or below. */
function moveFocus(event: KeyboardEvent, body: HTMLElement | null): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const links = [...(body?.querySelectorAll<HTMLElement>('td.wide a') ?? [])]
  const at = links.findIndex((link) => link === document.activeElement)
  const next = links[at + (event.key === 'ArrowDown' ? 1 : -1)]
  if (!next) return
  event.preventDefault()
  next.focus()
}

/** The place of rows that are loaded, shown only if that takes a while. */
function Bones({ columns }: Pick<RowProps, 'columns'>): JSX.Element {
  const isShown = useSignal(false)
  useEffect(() => {
    const timer = setTimeout(() => (isShown.value = true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  if (!isShown.value) return <></>
  return (
    <>
      {Array.from({ length: 8 }, (_, row) => (
        <tr key={row}>
          {['', 'wide', ...columns.map(({ look }) => look)].map((place, column) => (
            <td key={column} class={place}>
              <span class="bone" />
            </td>
          ))}
        </tr>
      ))}
    </>
  )
}
