import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ListedApproval } from '../../contract/run-list.ts'
import { hasScope, key } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { Empty, ErrorNote, Unloaded } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { duration, quantity } from '../part/text.ts'
import { go, hrefOf } from '../route.ts'
import { callTitle, decidedText } from '../run/approval-form.tsx'
import { ownDecisions, isInert, sendDecisions } from '../run/decide.ts'
import { type CatalogueTool, isHeld, toolList } from '../tool/catalogue.ts'
import { HeldTool } from '../tool/held.tsx'
import { ApprovalDetail } from './approval-detail.tsx'
import { loadWaiting, waitingCalls } from './waiting.ts'

/** How often the queue is loaded again while it is shown, in milliseconds. */
const REFRESH_MS = 5000
const HOUR_MS = 3_600_000

/** The calls that were decided here, which stay in the queue until the page is loaded again. */
const decidedCalls = new Map<string, ListedApproval>()

interface ApprovalsProps {
  /** A query of `tool` and `key`. */
  readonly filter?: string
  /** The id of the call, or the name of the tool, that is shown. */
  readonly call?: string
}

/** Loads the calls that wait, and again every few seconds. */
function useWaiting(): {
  readonly error: Signal<unknown>
  readonly isLoaded: Signal<boolean>
  readonly load: () => void
} {
  const error = useSignal<unknown>(undefined)
  const isLoaded = useSignal(false)
  const load = async () => {
    if (document.hidden || !hasScope('approve')) return
    try {
      await loadWaiting()
      error.value = undefined
    } catch (problem) {
      error.value = problem
    }
    isLoaded.value = true
  }
  useEffect(() => {
    void load()
    const timer = setInterval(load, REFRESH_MS)
    return () => clearInterval(timer)
  }, [key.value])
  return { error, isLoaded, load: () => void load() }
}

/** Everything that waits for a person, as a queue: calls of all conversations, and tools that have changed. */
export function Approvals({ filter = '', call: selected }: ApprovalsProps): JSX.Element {
  const { error, isLoaded, load } = useWaiting()
  const query = new URLSearchParams(filter)
  for (const each of waitingCalls.value) if (ownDecisions.value.has(each.id)) decidedCalls.set(each.id, each)
  const open = waitingCalls.value.filter((each) => !ownDecisions.value.has(each.id))
  const isWanted = ({ tool, caller }: ListedApproval) =>
    (query.get('tool') ?? tool) === tool && (query.get('key') ?? caller.key ?? '') === (caller.key ?? '')
  const wanted = open.filter(isWanted).toSorted((a, b) => a.expires - b.expires)
  const decided = [...decidedCalls.values()].toReversed()
  const changedTools = toolList.value.filter(isHeld)
  if (!hasScope('approve')) {
    const text = 'It lacks the scope approve. Use another key, or ask who manages the keys.'
    return <Empty icon="key" title="This key cannot decide" text={text} />
  }
  const isEmpty = wanted.length + decided.length + changedTools.length === 0
  return (
    <>
      <header class="head">
        <h1>Approvals</h1>
        <span class="badge wait" role="status">
          Waiting {open.length}
        </span>
        <span class="grow" />
        <FilterSelect query={query} name="tool" label="Any tool" values={open.map(({ tool }) => tool)} />
        <FilterSelect query={query} name="key" label="Any key" values={open.map(({ caller }) => caller.key ?? '')} />
      </header>
      {error.value !== undefined && !isEmpty && <ErrorNote error={error.value} />}
      {error.value !== undefined && isEmpty && <Unloaded error={error.value} what="The approvals" onRetry={load} />}
      {error.value === undefined && isEmpty && isLoaded.value && (
        <Empty icon="ok" title="Nothing waits for a decision" text={nothingText(filter)} />
      )}
      {!isEmpty && (
        <Queue filter={filter} selected={selected} wanted={wanted} decided={decided} changedTools={changedTools} />
      )}
    </>
  )
}

interface QueueProps {
  readonly filter: string
  readonly selected: string | undefined
  readonly wanted: readonly ListedApproval[]
  readonly decided: readonly ListedApproval[]
  readonly changedTools: readonly CatalogueTool[]
}

/** The queue, and beside it the call or the tool that is selected. */
function Queue({ filter, selected, wanted, decided, changedTools }: QueueProps): JSX.Element {
  const readIds = useSignal<ReadonlySet<string>>(new Set())
  const chosenIds = useSignal<ReadonlySet<string>>(new Set())
  const all = [...wanted, ...decided]
  const isByDefault = selected === undefined && !isPhone()
  // The call that is shown without being selected stays when it is decided, and when others come before it.
  const shownId = useRef<string | undefined>(undefined)
  const byDefault = all.find(({ id }) => id === shownId.current) ?? wanted[0]
  const current = all.find(({ id }) => id === selected) ?? (isByDefault ? byDefault : undefined)
  shownId.current = current?.id
  const tool =
    changedTools.find(({ name }) => name === selected) ?? (isByDefault && !current ? changedTools[0] : undefined)
  useEffect(() => {
    if (current) readIds.value = new Set([...readIds.peek(), current.id])
  }, [current?.id])
  const hrefTo = (id: string) => hrefOf({ page: 'approvals', filter, call: id })
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosenIds.peek())
    if (isChosen) next.add(id)
    else next.delete(id)
    chosenIds.value = next
  }
  const chosenCalls = wanted.filter(({ id }) => chosenIds.value.has(id))
  const group = (name: string, calls: readonly ListedApproval[]) =>
    calls.length > 0 && (
      <Group name={name}>
        {calls.map((call) => (
          <QueueItem
            key={call.id}
            call={call}
            href={hrefTo(call.id)}
            isSelected={call.id === current?.id}
            isRead={readIds.value.has(call.id)}
            isChosen={chosenIds.value.has(call.id)}
            onChoose={(isChosen) => choose(call.id, isChosen)}
          />
        ))}
      </Group>
    )
  return (
    <div class={selected === undefined ? 'split list' : 'split list has-detail'}>
      <section aria-label="Queue" onKeyDown={moveInQueue}>
        <div class="items">
          {group('Expire within the hour', wanted.filter(isUrgent))}
          {group(
            'Later',
            wanted.filter((call) => !isUrgent(call)),
          )}
          {changedTools.length > 0 && <ChangedTools tools={changedTools} current={tool} hrefTo={hrefTo} />}
          {group('Decided here', decided)}
        </div>
        {chosenCalls.length > 0 && <Several calls={chosenCalls} onDone={() => (chosenIds.value = new Set())} />}
      </section>
      <section class="sheet" aria-label="Decision">
        <a class="btn quiet back" href={hrefOf({ page: 'approvals', filter })}>
          <Icon name="back" />
          Queue
        </a>
        <div class="scroll" tabIndex={0}>
          {current && <ApprovalDetail key={current.id} call={current} next={nextOf(wanted, current)} hrefTo={hrefTo} />}
          {!current && tool && (
            <div class="pad narrow">
              <HeldTool key={tool.name} tool={tool} />
            </div>
          )}
          {!current && !tool && <Empty icon="approval" title="Select a call" />}
        </div>
      </section>
    </div>
  )
}

function isUrgent({ expires }: ListedApproval): boolean {
  return expires - Date.now() < HOUR_MS
}

interface ChangedProps {
  readonly tools: readonly CatalogueTool[]
  readonly current: CatalogueTool | undefined
  readonly hrefTo: (id: string) => string
}

function ChangedTools({ tools, current, hrefTo }: ChangedProps): JSX.Element {
  return (
    <Group name="Tools that have changed">
      {tools.map((tool) => (
        <a key={tool.name} class="item" href={hrefTo(tool.name)} aria-current={tool === current ? 'true' : undefined}>
          <span class="bar">
            <b class="cut">{visible(tool.name)}</b>
          </span>
          <small class="cut">Not called until you accept it</small>
        </a>
      ))}
    </Group>
  )
}

/** Whether the details are a page of their own, which is shown only once a call is selected. */
function isPhone(): boolean {
  return matchMedia('(max-width: 719px)').matches
}

function nothingText(filter: string): string {
  return filter === ''
    ? 'Calls of tools that need approval show here, those that expire first on top.'
    : 'Other filters may show calls that wait.'
}

/** The call after one in the queue. */
function nextOf(calls: readonly ListedApproval[], { id }: ListedApproval): string | undefined {
  const at = calls.findIndex((call) => call.id === id)
  return calls[at + 1]?.id ?? calls.find((call) => call.id !== id)?.id
}

interface FilterProps {
  readonly query: URLSearchParams
  readonly name: 'tool' | 'key'
  /** What the choice of all is called. */
  readonly label: string
  readonly values: readonly string[]
}

function FilterSelect({ query, name, label, values }: FilterProps): JSX.Element | null {
  const current = query.get(name) ?? ''
  const names = [...new Set([...values, current])].filter((each) => each !== '').toSorted()
  if (names.length < 2 && current === '') return null
  const change = (value: string) => {
    const next = new URLSearchParams(query)
    if (value === '') next.delete(name)
    else next.set(name, value)
    go({ page: 'approvals', filter: next.toString() }, true)
  }
  return (
    <select
      class="fit-select"
      aria-label={label}
      value={current}
      onChange={(event) => change(event.currentTarget.value)}
    >
      <option value="">{label}</option>
      {names.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  )
}

function Group({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <>
      <h2>{name}</h2>
      {children}
    </>
  )
}

interface ItemProps {
  readonly call: ListedApproval
  readonly href: string
  readonly isSelected: boolean
  /** Whether its details were shown: only what was read can be chosen. */
  readonly isRead: boolean
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}

function QueueItem({ call, href, isSelected, isRead, isChosen, onChoose }: ItemProps): JSX.Element {
  const { tool, caller, question = '', expires, definition } = call
  const decision = ownDecisions.value.get(call.id)
  const title = callTitle({ tool, arguments: JSON.stringify(call.arguments ?? null) }, definition ?? {})
  const remainingMs = expires - Date.now()
  const about = [question && `“${visible(question)}”`, `asked by ${visible(caller.key ?? caller.tenant)}`]
  return (
    <div class={`item-line ${isSelected ? 'is-current' : ''}`}>
      {isRead && !decision && (
        <input
          type="checkbox"
          aria-label={`Choose ${title}`}
          checked={isChosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      )}
      <a class={decision ? 'item done' : 'item'} href={href} aria-current={isSelected ? 'true' : undefined}>
        <span class="bar">
          <b class="cut">{title}</b>
          {decision ? (
            <span class="badge">
              <Icon name={decision.decision === 'approve' ? 'ok' : 'cross'} isSmall />
              {decision.decision === 'approve' ? 'Approved' : 'Rejected'}
            </span>
          ) : (
            <span class={`num ${remainingMs < HOUR_MS ? 'fail' : 'faint'}`}>
              {remainingMs > 0 ? `${duration(remainingMs)} left` : 'expired'}
            </span>
          )}
        </span>
        <small class="cut">{decision ? decidedText(decision) : about.filter(Boolean).join(' · ')}</small>
      </a>
    </div>
  )
}

/** Decides on several calls at once, all of which were read. */
function Several({
  calls,
  onDone,
}: {
  readonly calls: readonly ListedApproval[]
  readonly onDone: () => void
}): JSX.Element {
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  const isOff = isBusy.value || isInert.value
  const send = async (decision: 'approve' | 'reject') => {
    if (isOff) return
    isBusy.value = true
    error.value = undefined
    try {
      await sendDecisions(
        calls.map(({ id, conversation, run, argumentsHash }) => [
          { conversation, run },
          { call: id, decision, reason: '', arguments: '', argumentsHash },
        ]),
      )
      onDone()
    } catch (problem) {
      error.value = problem
    }
    isBusy.value = false
  }
  return (
    <div class="act">
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <span class="act-say faint grow">{quantity(calls.length, 'call')} chosen, as you read them</span>
      <button type="button" class="btn danger" aria-disabled={isOff} onClick={() => send('reject')}>
        Reject {calls.length}
      </button>
      <button type="button" class="btn" aria-disabled={isOff} onClick={() => send('approve')}>
        Approve {calls.length}
      </button>
    </div>
  )
}

/** Arrow keys move in the queue. */
function moveInQueue(event: KeyboardEvent): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const links = [...document.querySelectorAll<HTMLElement>('.items .item')]
  const at = links.findIndex((link) => link === document.activeElement)
  const next = links[at + (event.key === 'ArrowDown' ? 1 : -1)]
  if (!next) return
  event.preventDefault()
  next.focus()
}
