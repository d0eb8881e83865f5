import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ListedRun, RunSort } from '../../contract/run-list.ts'
import { hasEnded } from '../run/run-view.ts'
import { costText } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { memo } from '../part/memo.tsx'
import { runLook, State } from '../part/state.tsx'
import { amount, duration, moment, visible } from '../part/text.ts'
import { go, hrefOf } from '../route.ts'

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
  return (
    <>
      <table class="table" aria-label="Runs" aria-busy={runs === undefined}>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Question</th>
            <th scope="col" class="p2">
              Tools or fault
            </th>
            <th scope="col" class="p2">
              Model
            </th>
            <SortHead sort="steps" name="Steps" filter={filter} place="p3" />
            <SortHead sort="duration" name="Time" filter={filter} />
            <SortHead sort="tokens" name="Tokens" filter={filter} place="p2" />
            <SortHead sort="cost" name="Cost" filter={filter} />
            <th scope="col" class="p3">
              Key
            </th>
            <SortHead name="Started" filter={filter} place="p2" />
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={(event) => moveFocus(event, body.current)}>
          {runs ? runs.map((run) => <RunRow key={run.id} run={run} />) : <Bones />}
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

interface SortHeadProps {
  /** By what the column sorts. Default: the newest first. */
  readonly sort?: RunSort
  readonly name: string
  readonly filter: string
  readonly place?: string
}

function SortHead({ sort, name, filter, place = '' }: SortHeadProps): JSX.Element {
  const query = new URLSearchParams(filter)
  const isSorted = (query.get('sort') ?? undefined) === sort
  const change = () => {
    if (sort) query.set('sort', sort)
    else query.delete('sort')
    if (sort) query.delete('latest')
    go({ page: 'runs', filter: query.toString() })
  }
  return (
    <th scope="col" class={`num ${place}`} aria-sort={isSorted ? 'descending' : undefined}>
      <button type="button" onClick={change} title={sort ? `Sort by ${name.toLowerCase()}` : 'The newest first'}>
        {name}
        {isSorted && <Icon name="down" isSmall />}
      </button>
    </th>
  )
}

const RunRow = memo(ShownRow, (before, after) => JSON.stringify(before.run) === JSON.stringify(after.run))

function ShownRow({ run }: { readonly run: ListedRun }): JSX.Element {
  const { id, conversation, status, created, ended, question, model, steps, tokens, cost, key, limit } = run
  const fault = faultOf(run)
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
      <td class={`p2 fit ${fault ? 'fail' : 'faint'}`} title={fault ?? run.tools.join(', ')}>
        {fault ?? toolText(run)}
      </td>
      <td class="p2 fit dim" title={model}>
        {visible(model.split('/').at(-1) ?? model)}
      </td>
      <td class="num p3">{steps}</td>
      <td class="num">
        {hasEnded(run) && ended !== undefined ? duration(ended - created) : <Elapsed since={created} />}
      </td>
      <td class="num p2">{tokens !== undefined && amount(tokens)}</td>
      <td class="num">{cost > 0 ? costText(cost) : '–'}</td>
      <td class="p3 fit faint">{key}</td>
      <td class="num p2 faint" title={new Date(created).toLocaleString()}>
        {moment(created)}
      </td>
    </tr>
  )
}

/** The time of a run that has not ended, in whole seconds. */
function Elapsed({ since }: { readonly since: number }): JSX.Element {
  const now = useSignal(Date.now())
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(1, Math.round((now.value - since) / 1000))
  return <>{duration(seconds * 1000)}</>
}

/** Why a run needs somebody's eyes; undefined if it does not. */
function faultOf({ status, errors, limit }: ListedRun): string | undefined {
  if (limit !== undefined) return `limit of ${limit}`
  return status === 'failed' || status === 'parked' ? visible(errors.join(', ')) || status : undefined
}

function toolText({ tools }: ListedRun): string {
  const names = tools.slice(0, 2).map(visible).join(', ')
  return tools.length > 2 ? `${names} +${tools.length - 2}` : names
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
function Bones(): JSX.Element {
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
          {['', 'wide', 'p2', 'p2', 'p3', '', 'p2', '', 'p3', 'p2'].map((place, column) => (
            <td key={column} class={place}>
              <span class="bone" />
            </td>
          ))}
        </tr>
      ))}
    </>
  )
}
