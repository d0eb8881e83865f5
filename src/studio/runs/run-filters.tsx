import type { JSX, RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { RUN_STATUSES, type RunStatus } from '../../contract/run.ts'
import { models } from '../conversation/settings.ts'
import { Icon } from '../part/icon.tsx'
import { Menu } from '../part/menu.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { go, hrefOf } from '../route.ts'
import { toolList } from '../tool/catalogue.ts'
import { ColumnsMenu } from './columns.tsx'
import { FILTER_NAMES, type RunCounts, TIMES } from './run-query.ts'

/** The pause after a key before the edge is asked, in milliseconds. */
const SEARCH_MS = 250

interface FilterPort {
  readonly change: (name: string, value: string) => void
  /** Changes the address after a pause, together with what is typed meanwhile. */
  readonly changeSoon: (name: string, value: string) => void
}

/** Changes the filter in the address. */
function useFilter(filter: string): FilterPort {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  /** What was typed since the address was changed last. */
  const pending = useRef<ReadonlyMap<string, string>>(new Map())
  const apply = () => {
    const next = new URLSearchParams(filter)
    for (const [name, value] of pending.current) {
      if (value.trim() === '') next.delete(name)
      else next.set(name, value)
      // A list of the newest run of each chat has the order of time alone.
      if (name === 'latest') next.delete('sort')
    }
    pending.current = new Map()
    go({ page: 'runs', filter: next.toString() }, true)
  }
  const changeSoon = (name: string, value: string) => {
    clearTimeout(timer.current)
    pending.current = new Map([...pending.current, [name, value]])
    timer.current = setTimeout(apply, SEARCH_MS)
  }
  const change = (name: string, value: string) => {
    clearTimeout(timer.current)
    pending.current = new Map([...pending.current, [name, value]])
    apply()
  }
  return { change, changeSoon }
}

interface FiltersProps {
  readonly filter: string
  readonly counts: RunCounts | undefined
  readonly search: RefObject<HTMLInputElement | null>
}

/** The head of the list: statuses with their counts, the time, a search, and filters. All of it is in the address. */
export function RunFilters({ filter, counts, search }: FiltersProps): JSX.Element {
  const { change, changeSoon } = useFilter(filter)
  const query = new URLSearchParams(filter)
  const set = Object.keys(FILTER_NAMES).filter((name) => query.has(name))
  return (
    <>
      <header class="head">
        <h1>Runs</h1>
        <Statuses query={query} counts={counts} />
        <select
          class="nophone fit-select"
          aria-label="Time"
          value={query.get('since') ?? ''}
          onChange={(event) => change('since', event.currentTarget.value)}
        >
          {TIMES.map(([hours, name]) => (
            <option key={hours} value={hours}>
              {name}
            </option>
          ))}
        </select>
        <span class="grow nophone" />
        <div class="search">
          <Icon name="search" />
          <input
            ref={search}
            class="in"
            type="search"
            aria-label="Search runs"
            placeholder="Search questions or a run id"
            defaultValue={query.get('query') ?? ''}
            onInput={(event) => changeSoon('query', event.currentTarget.value)}
          />
        </div>
        <Menu
          look="btn"
          label={
            <>
              <Icon name="plus" />
              Filter
            </>
          }
        >
          <FilterFields query={query} onChange={changeSoon} />
        </Menu>
        <ColumnsMenu />
      </header>
      {set.length > 0 && (
        <div class="bar wrap tsearch">
          {set.map((name) => (
            <button
              key={name}
              type="button"
              class="chip"
              aria-label={`Remove the filter ${FILTER_NAMES[name]}`}
              onClick={() => change(name, '')}
            >
              {FILTER_NAMES[name]}: <span class="mono">{visible(query.get(name) ?? '')}</span>
              <Icon name="cross" isSmall />
            </button>
          ))}
          <a class="link hint" href={hrefOf({ page: 'runs' })}>
            Clear filters
          </a>
        </div>
      )}
    </>
  )
}

/** The statuses that people look for, each with how many runs have it. */
const SHOWN_STATUSES: readonly (readonly [status: RunStatus, name: string])[] = [
  ['failed', 'Failed'],
  ['waiting', 'Waiting'],
  ['running', 'Running'],
]

function Statuses({
  query,
  counts,
}: {
  readonly query: URLSearchParams
  readonly counts: RunCounts | undefined
}): JSX.Element {
  const current = query.get('status') ?? ''
  const href = (status: string) => {
    const next = new URLSearchParams(query)
    if (status === '') next.delete('status')
    else next.set('status', status)
    return hrefOf({ page: 'runs', filter: next.toString() })
  }
  const tab = (status: string, name: string, count: number | undefined) => (
    <a key={status} href={href(status)} aria-current={current === status ? 'true' : undefined}>
      {name} {count !== undefined && <b>{count.toLocaleString('en')}</b>}
    </a>
  )
  return (
    <div class="seg" role="group" aria-label="Status">
      {tab('', 'All', counts?.runs)}
      {SHOWN_STATUSES.map(([status, name]) => tab(status, name, counts && (counts.statuses[status] ?? 0)))}
    </div>
  )
}

interface FieldsProps {
  readonly query: URLSearchParams
  readonly onChange: (name: string, value: string) => void
}

function FilterFields({ query, onChange }: FieldsProps): JSX.Element {
  const field = (name: string, attributes: object = {}) => (
    <label class="field" key={name}>
      <span class="label">{FILTER_NAMES[name]}</span>
      <input
        class="in"
        defaultValue={query.get(name) ?? ''}
        {...attributes}
        onInput={(event) => onChange(name, event.currentTarget.value)}
      />
    </label>
  )
  return (
    <div class="stack2">
      <label class="field">
        <span class="label">Status</span>
        <select value={query.get('status') ?? ''} onChange={(event) => onChange('status', event.currentTarget.value)}>
          <option value="">Any status</option>
          {RUN_STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      {field('model', { list: 'model-names' })}
      {field('key')}
      {field('tool', { list: 'tool-names' })}
      {field('error', { placeholder: 'tool_failed' })}
      <div class="bar">
        {field('cost', { type: 'number', min: '0', step: 'any' })}
        {field('duration', { type: 'number', min: '0', step: '1000' })}
      </div>
      <div class="bar">
        {field('from', { type: 'date' })}
        {field('to', { type: 'date' })}
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={query.get('latest') === 'true'}
          onChange={(event) => onChange('latest', event.currentTarget.checked ? 'true' : '')}
        />
        Only the newest run of each chat
      </label>
      <datalist id="model-names">
        {models.value.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id="tool-names">
        {toolList.value.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  )
}

/** What a filter selects, in words: `failed run with refundOrder in the last 24 hours`. */
export function filterText(filter: string): string {
  const query = new URLSearchParams(filter)
  const time = TIMES.find(([hours]) => hours !== '' && hours === query.get('since'))?.[1]
  const words = [
    query.get('status'),
    'run',
    query.has('tool') && `with ${query.get('tool')}`,
    query.has('error') && `with the error ${query.get('error')}`,
    query.has('model') && `of ${query.get('model')}`,
    query.has('key') && `of the key ${query.get('key')}`,
    query.has('query') && `about “${query.get('query')}”`,
    time && `in the ${time.toLowerCase()}`,
  ]
  return visible(words.filter(Boolean).join(' '))
}
