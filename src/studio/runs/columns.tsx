import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { ListedRun, RunSort } from '../../contract/run-list.ts'
import { costText } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { Menu } from '../part/menu.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { amount, duration, moment } from '../part/text.ts'
import { hasEnded } from '../run/run-view.ts'

/** A column of the table of runs beside their status and question, which it always has. */
export interface RunColumn {
  readonly name: string
  /** By what the column sorts; `newest` for the order of the list itself. Default: it does not sort. */
  readonly sort?: RunSort | 'newest'
  /** Classes of its cells: `p3` and `p2` are left out, in this order, where there is no room. */
  readonly look: string
  readonly isOptional?: true
  readonly cell: (run: ListedRun) => JSX.Element | string | number | undefined
  readonly title?: (run: ListedRun) => string
}

export const RUN_COLUMNS: readonly RunColumn[] = [
  {
    name: 'Tools or fault',
    look: 'p2 fit',
    cell: (run) => <span class={faultOf(run) ? 'fail' : 'faint'}>{faultOf(run) ?? toolText(run)}</span>,
    title: (run) => faultOf(run) ?? run.tools.join(', '),
  },
  {
    name: 'Model',
    look: 'p2 fit dim',
    cell: ({ model }) => visible(model.split('/').at(-1) ?? model),
    title: ({ model }) => model,
  },
  { name: 'Steps', sort: 'steps', look: 'num p3', cell: ({ steps }) => steps },
  {
    name: 'Time',
    sort: 'duration',
    look: 'num',
    cell: (run) =>
      hasEnded(run) && run.ended !== undefined ? duration(run.ended - run.created) : <Elapsed since={run.created} />,
  },
  {
    name: 'Tokens',
    sort: 'tokens',
    look: 'num p2',
    cell: ({ tokens }) => (tokens === undefined ? undefined : amount(tokens)),
  },
  { name: 'Cost', sort: 'cost', look: 'num', cell: ({ cost }) => (cost > 0 ? costText(cost) : '–') },
  { name: 'Key', look: 'p3 fit faint', cell: ({ key }) => key },
  {
    name: 'Agent',
    look: 'p3 fit faint',
    isOptional: true,
    cell: ({ path = [] }) => visible(path.map(({ agent }) => agent).join(' › ')),
  },
  { name: 'Errors', look: 'p3 fit faint', isOptional: true, cell: ({ errors }) => visible(errors.join(', ')) },
  { name: 'Chat', look: 'p3 fit faint mono', isOptional: true, cell: ({ conversation }) => conversation },
  { name: 'Run', look: 'p3 fit faint mono', isOptional: true, cell: ({ id }) => id },
  {
    name: 'Started',
    sort: 'newest',
    look: 'num p2 faint',
    cell: ({ created }) => moment(created),
    title: ({ created }) => new Date(created).toLocaleString(),
  },
]

const STORED = 'edgecall-run-columns'
const DEFAULT_NAMES = RUN_COLUMNS.flatMap(({ name, isOptional }) => (isOptional ? [] : [name]))

/** The names of the columns that this browser shows. */
const columnNames = signal(readNames())

function readNames(): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(STORED) ?? '')
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : DEFAULT_NAMES
  } catch {
    return DEFAULT_NAMES
  }
}

/** Returns the columns that are shown, in the order of the table. */
export function shownColumns(): readonly RunColumn[] {
  return RUN_COLUMNS.filter(({ name }) => columnNames.value.includes(name))
}

function choose(names: readonly string[]): void {
  columnNames.value = names
  if (names === DEFAULT_NAMES) localStorage.removeItem(STORED)
  else localStorage.setItem(STORED, JSON.stringify(names))
}

/** Chooses the columns, which this browser remembers. */
export function ColumnsMenu(): JSX.Element {
  const names = columnNames.value
  const toggle = (name: string) =>
    choose(names.includes(name) ? names.filter((each) => each !== name) : [...names, name])
  return (
    <div class="nophone">
      <Menu
        look="btn"
        label={
          <>
            <Icon name="columns" />
            Columns
          </>
        }
      >
        <div class="stack2">
          {RUN_COLUMNS.map(({ name }) => (
            <label key={name} class="check">
              <input type="checkbox" checked={names.includes(name)} onChange={() => toggle(name)} />
              {name}
            </label>
          ))}
          <button type="button" class="link" onClick={() => choose(DEFAULT_NAMES)}>
            Show the default columns
          </button>
        </div>
      </Menu>
    </div>
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
