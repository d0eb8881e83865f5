import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { caller, hasScope, key, loadCaller, outage, keyRefusal, retryNow } from './api/session.ts'
import { Approvals } from './approval/approvals.tsx'
import { loadWaiting, waitingCalls } from './approval/waiting.ts'
import { ConnectPage } from './connect/connect-page.tsx'
import { Chat } from './conversation/chat.tsx'
import { Compare } from './conversation/compare.tsx'
import { loadRecent, recentChats } from './conversation/conversation-store.ts'
import { loadModels } from './conversation/settings.ts'
import { KeyPage } from './key-page.tsx'
import { Icon, type IconName, Logo } from './part/icon.tsx'
import { runLook } from './part/state.tsx'
import { visible } from '../contract/hidden-characters.ts'
import { moment } from './part/text.ts'
import { hrefOf, route, type StudioRoute } from './route.ts'
import { RunPage } from './run/run-page.tsx'
import { Runs } from './runs/runs-page.tsx'
import { SchedulesPage } from './schedule/schedules-page.tsx'
import { isDark, switchTheme } from './theme.ts'
import { loadTools } from './tool/catalogue.ts'
import { Define } from './tool/define.tsx'
import { Tools } from './tool/tools.tsx'
import { UsagePage } from './usage/usage-page.tsx'

/** How often the sidebar looks for chats and calls that wait, in milliseconds. */
const REFRESH_MS = 10_000

/** The studio: the sidebar, and the view that the address names. */
export function App(): JSX.Element {
  useEffect(() => {
    // A key without the scope for one of these can still use the rest; each view says what it lacks.
    const load = () => {
      if (document.hidden) return
      if (hasScope('approve')) loadWaiting().catch(() => {})
      if (hasScope('chat')) loadRecent().catch(() => {})
    }
    void loadCaller().then(
      () => {
        load()
        if (hasScope('chat')) loadModels().catch(() => {})
        if (hasScope('tools:read')) loadTools().catch(() => {})
      },
      () => {},
    )
    const timer = setInterval(load, REFRESH_MS)
    return () => clearInterval(timer)
  }, [key.value])
  if (keyRefusal.value) {
    return (
      <main class="view keyview" id="main">
        <KeyPage />
      </main>
    )
  }
  const current = route.value
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Sidebar current={current} />
      <main
        class={`view ${current.page === 'chat' ? 'chatview' : current.page === 'runs' ? 'runsview' : ''}`}
        id="main"
      >
        {outage.value && <OutageBanner />}
        <View current={current} />
      </main>
    </>
  )
}

/** The address after the `#` names the view, so this link must not change it. */
function skip(event: Event): void {
  event.preventDefault()
  const main = document.getElementById('main')
  main?.setAttribute('tabindex', '-1')
  main?.focus()
}

function View({ current }: { readonly current: StudioRoute }): JSX.Element {
  switch (current.page) {
    case 'chat':
      return <Chat key={key.value} {...current} />
    case 'runs':
      return <Runs key={key.value} {...current} />
    case 'run':
      return <RunPage key={`${key.value} ${current.run}`} {...current} />
    case 'approvals':
      return <Approvals {...current} />
    case 'tools':
      return <Tools {...current} />
    case 'define':
      return <Define key={current.tool} {...current} />
    case 'compare':
      return <Compare {...current} />
    case 'usage':
      return <UsagePage {...current} />
    case 'schedules':
      return <SchedulesPage {...current} />
    case 'connect':
      return <ConnectPage {...current} />
    case 'key':
      return <KeyPage />
    case 'more':
      return <More />
  }
}

/** Says that the edge cannot be reached, and when it is tried again. */
function OutageBanner(): JSX.Element {
  const now = useSignal(Date.now())
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const { since, retryAt } = outage.value ?? { since: 0, retryAt: 0 }
  const seconds = Math.max(1, Math.ceil((retryAt - now.value) / 1000))
  return (
    <div class="banner" role="alert">
      <Icon name="warning" />
      <span>
        <b>No connection to the edge.</b> <span aria-live="off">{`Trying again in ${seconds} s.`}</span> What you see is
        from {moment(since)}.
      </span>
      <span class="grow" />
      <button type="button" class="btn" onClick={() => retryNow().catch(() => {})}>
        Try now
      </button>
    </div>
  )
}

interface Entry {
  readonly name: string
  readonly icon: IconName
  readonly to: StudioRoute
  /** The scope without which there is nothing to see. */
  readonly scope: string
  readonly isOnPhone: boolean
}

const ENTRIES: readonly Entry[] = [
  { name: 'Chat', icon: 'chat', to: { page: 'chat' }, scope: 'chat', isOnPhone: true },
  { name: 'Runs', icon: 'runs', to: { page: 'runs' }, scope: 'chat', isOnPhone: true },
  { name: 'Approvals', icon: 'approval', to: { page: 'approvals' }, scope: 'approve', isOnPhone: true },
  { name: 'Tools', icon: 'tool', to: { page: 'tools' }, scope: 'tools:read', isOnPhone: true },
  { name: 'Schedules', icon: 'clock', to: { page: 'schedules' }, scope: 'schedules', isOnPhone: false },
  { name: 'Usage', icon: 'usage', to: { page: 'usage' }, scope: 'metrics', isOnPhone: false },
  { name: 'Connect', icon: 'connect', to: { page: 'connect' }, scope: 'chat', isOnPhone: false },
]

/** The views under More, on a phone. */
const MORE: ReadonlySet<StudioRoute['page']> = new Set(['more', 'usage', 'schedules', 'connect'])

/** The entry under which a view is. */
const PARENT: Partial<Record<StudioRoute['page'], StudioRoute['page']>> = {
  run: 'runs',
  compare: 'runs',
  define: 'tools',
}

function Sidebar({ current }: { readonly current: StudioRoute }): JSX.Element {
  const page = PARENT[current.page] ?? current.page
  const waiting = waitingCalls.value.length
  return (
    <nav class="side" aria-label="Main">
      <a class="brand" href={hrefOf({ page: 'chat' })}>
        <Logo />
        <span class="t">Edgecall</span>
      </a>
      <ul>
        {ENTRIES.filter(({ scope }) => hasScope(scope)).map(({ name, icon, to, isOnPhone }) => (
          <li key={name} class={isOnPhone ? '' : 'nophone'}>
            <a href={hrefOf(to)} aria-current={page === to.page ? 'page' : undefined} title={name}>
              <Icon name={icon} />
              <span class="t">{name}</span>
              {to.page === 'approvals' && waiting > 0 && (
                <span class="count" title={`${waiting} calls wait for a decision`}>
                  {waiting}
                </span>
              )}
            </a>
          </li>
        ))}
        <li class="more">
          <a href={hrefOf({ page: 'more' })} aria-current={MORE.has(page) ? 'page' : undefined}>
            <Icon name="more" />
            <span class="t">More</span>
          </a>
        </li>
      </ul>
      <Recent current={current} />
      <div class="foot">
        <Settings />
      </div>
    </nav>
  )
}

/** The newest chats, with a sign beside those that run or wait. */
function Recent({ current }: { readonly current: StudioRoute }): JSX.Element {
  return (
    <div class="recent">
      {recentChats.value.length > 0 && <h2>Recent chats</h2>}
      <ul>
        {recentChats.value.map(({ conversation, question, status }) => {
          const look = runLook(status)
          const isShown = current.page === 'chat' && current.conversation === conversation
          return (
            <li key={conversation}>
              <a
                href={hrefOf({ page: 'chat', conversation })}
                aria-current={isShown ? 'page' : undefined}
                title={visible(question)}
              >
                <span class="cut">{visible(question) || conversation}</span>
                {(look.tone === 'model' || look.tone === 'wait') && (
                  <span class={`${look.tone} tail`} title={look.word}>
                    <Icon name={look.icon} isSmall isSpinning={look.isSpinning === true} />
                  </span>
                )}
              </a>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** The key in use, and the colours. */
function Settings(): JSX.Element {
  const { key: id, tenant = 'Key' } = caller.value ?? {}
  return (
    <>
      <a href={hrefOf({ page: 'key' })} title="Key">
        <Icon name="key" />
        <span class="t cut">{id ?? tenant}</span>
      </a>
      <button type="button" onClick={switchTheme} aria-pressed={isDark.value}>
        <Icon name="moon" />
        <span class="t">Light or dark</span>
      </button>
    </>
  )
}

/** On a phone: what has no place in the bar at the bottom. */
function More(): JSX.Element {
  return (
    <>
      <header class="head">
        <h1>More</h1>
      </header>
      <div class="scroll pad">
        {ENTRIES.filter(({ isOnPhone, scope }) => !isOnPhone && hasScope(scope)).map(({ name, to }) => (
          <a key={name} class="item" href={hrefOf(to)}>
            <span class="bar">
              <b>{name}</b>
            </span>
          </a>
        ))}
        <div class="settings">
          <Settings />
        </div>
      </div>
    </>
  )
}
