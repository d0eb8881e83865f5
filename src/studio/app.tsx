import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { key, needsKey } from './api/session.ts'
import { Approvals } from './approval/approvals.tsx'
import { loadWaiting, waitingCalls } from './approval/waiting.ts'
import { Chat } from './conversation/chat.tsx'
import { Compare } from './conversation/compare.tsx'
import { Conversations } from './conversation/conversations.tsx'
import { loadModels } from './conversation/settings.ts'
import { KeyForm } from './key-form.tsx'
import { hrefOf, type StudioRoute, route } from './route.ts'
import { loadTools } from './tool/catalogue.ts'
import { Define } from './tool/define.tsx'
import { Tools } from './tool/tools.tsx'

/** The studio: the pages, and the bar that leads to them. */
export function App(): JSX.Element {
  useEffect(() => {
    // A key without the scope for one of these can still use the rest; each page says what it lacks.
    void Promise.allSettled([loadModels(), loadTools(), loadWaiting()])
  }, [key.value])
  const current = route.value
  return (
    <>
      <header class="topbar">
        <a class="brand" href={hrefOf({ page: 'chat' })}>
          Edgecall
        </a>
        <nav aria-label="Pages">
          <Tab to={{ page: 'chat' }} name="Chat" current={current} />
          <Tab to={{ page: 'conversations' }} name="Conversations" current={current} />
          <Tab to={{ page: 'approvals' }} name="Approvals" count={waitingCalls.value.length} current={current} />
          <Tab to={{ page: 'tools' }} name="Tools" current={current} />
        </nav>
        <KeyButton />
      </header>
      <main>{needsKey.value ? <KeyForm /> : <Page current={current} />}</main>
    </>
  )
}

function Page({ current }: { readonly current: StudioRoute }): JSX.Element {
  switch (current.page) {
    case 'chat':
      return <Chat key={key.value} {...current} />
    case 'conversations':
      return <Conversations key={key.value} {...current} />
    case 'approvals':
      return <Approvals />
    case 'tools':
      return <Tools {...current} />
    case 'define':
      return <Define key={current.tool} {...current} />
    case 'compare':
      return <Compare {...current} />
  }
}

interface TabProps {
  readonly to: StudioRoute
  readonly name: string
  /** How much waits there. */
  readonly count?: number
  readonly current: StudioRoute
}

function Tab({ to, name, count = 0, current }: TabProps): JSX.Element {
  const isShown = to.page === current.page || (to.page === 'tools' && current.page === 'define')
  return (
    <a href={hrefOf(to)} aria-current={isShown ? 'page' : undefined}>
      {name}
      {count > 0 && <span class="count">{count}</span>}
    </a>
  )
}

function KeyButton(): JSX.Element {
  return (
    <button type="button" class="link" onClick={() => (needsKey.value = !needsKey.value)}>
      {key.value === '' ? 'Key' : 'Change key'}
    </button>
  )
}
