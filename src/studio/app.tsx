import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { key, needsKey } from './api/session.ts'
import { Approvals } from './approval/approvals.tsx'
import { Chat } from './conversation/chat.tsx'
import { Compare } from './conversation/compare.tsx'
import { Conversations } from './conversation/conversations.tsx'
import { loadModels } from './conversation/settings.ts'
import { KeyForm } from './key-form.tsx'
import { hrefOf, type Route, route } from './route.ts'
import { loadTools } from './tool/catalogue.ts'
import { Define } from './tool/define.tsx'
import { Tools } from './tool/tools.tsx'

/** The studio: the pages, and the bar that leads to them. */
export function App(): JSX.Element {
  useEffect(() => {
    // A key without the scope for one of these can still use the rest; each page says what it lacks.
    void Promise.allSettled([loadModels(), loadTools()])
  }, [key.value])
  const shown = route.value
  return (
    <>
      <header class="topbar">
        <a class="brand" href={hrefOf({ page: 'chat' })}>
          Edgecall
        </a>
        <nav aria-label="Pages">
          <Tab to={{ page: 'chat' }} name="Chat" shown={shown} />
          <Tab to={{ page: 'conversations' }} name="Conversations" shown={shown} />
          <Tab to={{ page: 'approvals' }} name="Approvals" shown={shown} />
          <Tab to={{ page: 'tools' }} name="Tools" shown={shown} />
        </nav>
        <KeyButton />
      </header>
      <main>{needsKey.value ? <KeyForm /> : <Page shown={shown} />}</main>
    </>
  )
}

function Page({ shown }: { readonly shown: Route }): JSX.Element {
  switch (shown.page) {
    case 'chat':
      return <Chat key={key.value} {...shown} />
    case 'conversations':
      return <Conversations key={key.value} />
    case 'approvals':
      return <Approvals />
    case 'tools':
      return <Tools {...shown} />
    case 'define':
      return <Define key={shown.tool} {...shown} />
    case 'compare':
      return <Compare {...shown} />
  }
}

interface TabProps {
  readonly to: Route
  readonly name: string
  readonly shown: Route
}

function Tab({ to, name, shown }: TabProps): JSX.Element {
  const isShown = to.page === shown.page || (to.page === 'tools' && shown.page === 'define')
  return (
    <a href={hrefOf(to)} aria-current={isShown ? 'page' : undefined}>
      {name}
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
