import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Schedule, ScheduleEntry, ScheduleOutcome, ScheduleSummary } from '../../contract/schedule.ts'
import { useLoaded } from '../api/loaded.ts'
import { fetchJson, hasScope, part } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { Empty, ErrorNote, Unloaded } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { moment, quantity } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { nextText, timesText, zoneText } from './times.ts'

/** How many schedules are loaded at first, and each time that more are wanted. */
const PAGE = 100

/** The schedules of the tenant: what runs next, and whether the last runs were started. */
export function SchedulesPage({ name }: { readonly name?: string }): JSX.Element {
  return name === undefined ? <ScheduleList /> : <ScheduleDetail key={name} name={name} />
}

async function loadPages(pages: number): Promise<{ schedules: readonly ScheduleSummary[]; hasMore: boolean }> {
  const schedules: ScheduleSummary[] = []
  for (let page = 0; page < pages; page++) {
    const after = schedules.at(-1)?.name ?? ''
    const more = await fetchJson<readonly ScheduleSummary[]>(`/schedules?limit=${PAGE}&after=${part(after)}`)
    schedules.push(...more)
    if (more.length < PAGE) return { schedules, hasMore: false }
  }
  return { schedules, hasMore: true }
}

function ScheduleList(): JSX.Element {
  const pages = useSignal(1)
  const { state, reload } = useLoaded(() => loadPages(pages.value), [pages.value])
  const { value, error, isLoading } = state.value
  const schedules = value?.schedules ?? []
  const paused = schedules.filter((each) => each.paused).length
  return (
    <>
      <header class="head">
        <h1>Schedules</h1>
        {schedules.length > 0 && (
          <span class="faint">
            {`${schedules.length - paused}${value?.hasMore ? ' or more' : ''} on, ${paused} paused`}
          </span>
        )}
      </header>
      <div class="scroll area" tabIndex={0} aria-busy={isLoading}>
        {error !== undefined && <Unloaded error={error} what="The schedules" onRetry={reload} />}
        {value && schedules.length === 0 && <NoSchedules />}
        {schedules.length > 0 && (
          <table class="table">
            <thead>
              <tr>
                <th scope="col">On</th>
                <th scope="col">What it asks</th>
                <th scope="col">When</th>
                <th scope="col" class="p1">
                  Next
                </th>
                <th scope="col" class="p2">
                  Last ten
                </th>
                <th scope="col" class="p2">
                  Key
                </th>
              </tr>
            </thead>
            <tbody>
              {schedules.map((schedule) => (
                <Row key={schedule.name} schedule={schedule} onChange={reload} />
              ))}
            </tbody>
          </table>
        )}
        {value?.hasMore && (
          <div class="pad">
            <button type="button" class="btn" onClick={() => pages.value++}>
              Show more
            </button>
          </div>
        )}
        <Faults schedules={schedules} />
      </div>
    </>
  )
}

function NoSchedules(): JSX.Element {
  return (
    <Empty
      icon="clock"
      title="No schedules yet"
      text="A schedule starts runs by itself, such as every weekday at 8. Store one with PUT /schedules/{name}, with npx edgecall schedules set, or let a model make one."
    />
  )
}

interface RowProps {
  readonly schedule: ScheduleSummary
  readonly onChange: () => void
}

function Row({ schedule, onChange }: RowProps): JSX.Element {
  const { name, asks, paused, next, waiting, recent, identity } = schedule
  const isFailing = recent[0] !== undefined && FAILURES.has(recent[0])
  return (
    <tr>
      <td>
        <Switch schedule={schedule} onChange={onChange} />
      </td>
      <td class="wide">
        <a href={hrefOf({ page: 'schedules', name })} title={name}>
          {visible(asks) || name}
        </a>
        {isFailing && <span class="fail"> · {recent[0]}</span>}
      </td>
      <td title={zoneText(schedule)}>{timesText(schedule)}</td>
      <td class={paused ? 'p1 faint' : 'p1'}>
        {paused ? 'paused' : waiting ? `waits: ${waiting.code}` : nextText(next, Date.now())}
      </td>
      <td class="p2">
        <Recent outcomes={recent} />
      </td>
      <td class="p2 faint">{identity.key ?? ''}</td>
    </tr>
  )
}

/** A request that a button makes: whether it is under way, and why it failed. */
function useAction(work: () => Promise<void>) {
  const isBusy = useSignal(false)
  const fault = useSignal<unknown>(undefined)
  const perform = () => {
    isBusy.value = true
    fault.value = undefined
    void work()
      .catch((error: unknown) => (fault.value = error))
      .finally(() => (isBusy.value = false))
  }
  return { isBusy, fault, perform }
}

/** Whether a schedule is on. Turning it on again misses no time that has passed. */
function Switch({ schedule: { name, paused }, onChange }: RowProps): JSX.Element {
  const { isBusy, fault, perform } = useAction(async () => {
    await fetchJson(`/schedules/${part(name)}`, { method: 'PATCH', json: { paused: !paused } })
    onChange()
  })
  return (
    <>
      <button
        type="button"
        class="sw"
        role="switch"
        aria-checked={!paused}
        aria-label={`${name} is on`}
        disabled={isBusy.value}
        onClick={perform}
      >
        <span class={paused ? 'switch' : 'switch on'} />
      </button>
      {fault.value !== undefined && <ErrorNote error={fault.value} />}
    </>
  )
}

/** What a due time came to that nobody wants. */
const FAILURES: ReadonlySet<ScheduleOutcome> = new Set(['refused', 'failed', 'missed'])

/** The last ten due times, the newest on the right: a bar for one that started, a cross for one that failed. */
function Recent({ outcomes }: { readonly outcomes: readonly ScheduleOutcome[] }): JSX.Element {
  const failed = outcomes.filter((outcome) => FAILURES.has(outcome)).length
  const label = outcomes.length === 0 ? 'Never due' : `${failed} of the last ${outcomes.length} failed`
  return (
    <svg width="92" height="12" role="img" aria-label={label}>
      {outcomes.toReversed().map((outcome, at) => {
        const x = 1 + 9 * at
        if (FAILURES.has(outcome))
          return <path key={at} d={`M${x} 2l6 8M${x + 6} 2l-6 8`} stroke="var(--fail)" stroke-width="2" />
        const isOutline = outcome === 'skipped'
        return (
          <rect
            key={at}
            x={isOutline ? x + 0.5 : x}
            y={isOutline ? 2.5 : 2}
            width={isOutline ? 5 : 6}
            height={isOutline ? 7 : 8}
            rx="1"
            fill={isOutline ? 'none' : 'var(--control)'}
            stroke={isOutline ? 'var(--control)' : undefined}
          />
        )
      })}
    </svg>
  )
}

/** Says of each schedule whose last run was not started why, and what comes next. */
function Faults({ schedules }: { readonly schedules: readonly ScheduleSummary[] }): JSX.Element {
  const faulty = schedules.filter(({ recent: [latest] }) => latest !== undefined && FAILURES.has(latest))
  return (
    <div class="pad stack">
      {faulty.slice(0, 5).map(({ name, last, next, paused }) => (
        <p key={name} class="note fail">
          <Icon name="cross" />
          <span>
            <b>{name}</b> was not started: <code>{last?.code ?? last?.outcome}</code> {visible(last?.message ?? '')}{' '}
            {paused
              ? 'It is paused.'
              : next === undefined
                ? 'It has no further time.'
                : `Next try ${moment(Date.parse(next))}.`}{' '}
            <a class="link" href={hrefOf({ page: 'schedules', name })}>
              Open
            </a>
          </span>
        </p>
      ))}
    </div>
  )
}

function ScheduleDetail({ name }: { readonly name: string }): JSX.Element {
  const { state, reload } = useLoaded(() => fetchJson<Schedule>(`/schedules/${part(name)}`), [name])
  const { value, error } = state.value
  return (
    <>
      <header class="head">
        <a class="btn quiet" href={hrefOf({ page: 'schedules' })} aria-label="All schedules">
          <Icon name="back" />
        </a>
        <h1 class="cut">{name}</h1>
        <span class="grow" />
        {value && <RunNow name={name} onStart={reload} />}
      </header>
      <div class="scroll" tabIndex={0}>
        {error !== undefined && <Unloaded error={error} what="The schedule" onRetry={reload} />}
        {value && (
          <div class="pad stack">
            <p class="bar">
              <Switch schedule={value} onChange={reload} />
              {`${timesText(value)} ${zoneText(value)} · ${value.paused ? 'paused' : `next ${nextText(value.next, Date.now())}`}`}
            </p>
            <p>{visible(value.asks)}</p>
            <p class="faint">
              {`Runs as ${value.identity.key ?? 'this tenant'} with ${value.identity.scopes.join(', ')}.`}
              {value.overlap === 'queue'
                ? ' A run waits for the one before.'
                : ' No run starts while one is under way.'}
            </p>
            {value.waiting && (
              <p class="note">
                <Icon name="clock" />
                <span>
                  <b>Waits to start.</b> {visible(value.waiting.message)}
                </span>
              </p>
            )}
            <h2>History</h2>
            {value.history.length === 0 ? (
              <p class="faint">It has not been due yet.</p>
            ) : (
              <table class="table">
                <thead>
                  <tr>
                    <th scope="col">Due</th>
                    <th scope="col">What it came to</th>
                    <th scope="col">Run</th>
                  </tr>
                </thead>
                <tbody>
                  {value.history.map((entry) => (
                    <Entry key={`${entry.due} ${entry.run ?? ''}`} entry={entry} />
                  ))}
                </tbody>
              </table>
            )}
            {value.history.length >= 30 && <p class="faint">{`The last ${quantity(30, 'time')} are stored.`}</p>}
          </div>
        )}
      </div>
    </>
  )
}

function Entry({ entry }: { readonly entry: ScheduleEntry }): JSX.Element {
  const { due, outcome, code, message, run, conversation, manual } = entry
  const isFailure = FAILURES.has(outcome)
  return (
    <tr>
      <td>{moment(Date.parse(due))}</td>
      <td class={isFailure ? 'wide fail' : 'wide'} title={message ?? ''}>
        {isFailure && <Icon name="cross" isSmall />}
        {` ${manual ? 'started by hand' : outcome}${code === undefined ? '' : `: ${code}`}`}
      </td>
      <td>
        {run !== undefined && conversation !== undefined && hasScope('chat') ? (
          <a class="link" href={hrefOf({ page: 'run', conversation, run })}>
            Open run
          </a>
        ) : (
          ''
        )}
      </td>
    </tr>
  )
}

function RunNow({ name, onStart }: { readonly name: string; readonly onStart: () => void }): JSX.Element {
  const { isBusy, fault, perform } = useAction(async () => {
    await fetchJson(`/schedules/${part(name)}/run`, { method: 'POST' })
    onStart()
  })
  return (
    <>
      {fault.value !== undefined && <ErrorNote error={fault.value} />}
      <button type="button" class="btn solid" disabled={isBusy.value} onClick={perform}>
        Run now
      </button>
    </>
  )
}
