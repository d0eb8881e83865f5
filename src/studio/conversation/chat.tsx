import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { ErrorNote } from '../part/problem.tsx'
import { hrefOf, type StudioRoute } from '../route.ts'
import { RunPanel } from '../run/run-panel.tsx'
import { watchRun } from '../run/run-store.ts'
import { hasEnded } from '../run/run-view.ts'
import { Composer } from './composer.tsx'
import { ConversationHead } from './head.tsx'
import { type Opened, opened, openConversation, openingError, PAGE } from './conversation-store.ts'
import { TurnItem } from './turn.tsx'

type ChatRoute = Extract<StudioRoute, { readonly page: 'chat' }>

/** A conversation, and beside it the run that is selected in it. */
export function Chat({ conversation, run, item }: ChatRoute): JSX.Element {
  useEffect(() => {
    // A conversation that a question has just created is shown already.
    if (opened.peek()?.id !== conversation || conversation === undefined) void openConversation(conversation)
  }, [conversation])
  if (conversation !== undefined && openingError.value !== undefined) return <NotOpened conversation={conversation} />
  const transcript = opened.value?.id === conversation ? opened.value : undefined
  const selected = run ?? transcript?.turns.findLast(({ summary }) => summary)?.run
  const turn = transcript?.turns.find((each) => each.run === selected)
  const isPanelShown = conversation !== undefined && selected !== undefined
  return (
    <div class={isPanelShown ? 'chat split' : 'chat'}>
      <div class="transcript">
        {conversation && <ConversationHead id={conversation} />}
        <Transcript transcript={transcript} selected={selected} linked={run} isNew={conversation === undefined} />
        <Composer conversation={conversation} current={currentOf(transcript)} />
      </div>
      {isPanelShown && (
        <RunPanel address={{ conversation, run: selected }} item={item} endedAt={turn?.summary?.ended} />
      )}
    </div>
  )
}

/** Says why a conversation is not shown. */
function NotOpened({ conversation }: { readonly conversation: string }): JSX.Element {
  return (
    <div class="page">
      <h1>This conversation cannot be shown</h1>
      <ErrorNote error={openingError.value} />
      <div class="line">
        <button type="button" onClick={() => openConversation(conversation)}>
          Try again
        </button>
        <a class="button" href={hrefOf({ page: 'conversations' })}>
          All conversations
        </a>
      </div>
    </div>
  )
}

interface TranscriptProps {
  readonly transcript: Opened | undefined
  readonly selected: string | undefined
  /** The run that the address names. */
  readonly linked: string | undefined
  readonly isNew: boolean
}

/** The turns. The turn of a linked run is scrolled into view; else the newest line stays there until the reader scrolls up. */
function Transcript({ transcript, selected, linked, isNew }: TranscriptProps): JSX.Element {
  const log = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const id = transcript?.id
  useLayoutEffect(() => {
    const element = log.current
    if (!element) return undefined
    isAtEnd.current = true
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight
    })
    for (const child of element.children) observer.observe(child)
    return () => observer.disconnect()
  }, [id])
  useLayoutEffect(() => {
    const element = log.current
    const turn = element?.querySelector('[aria-current]')
    if (!element || !turn || linked === undefined || linked === transcript?.turns.at(-1)?.run) return
    const [view, box] = [element.getBoundingClientRect(), turn.getBoundingClientRect()]
    isAtEnd.current = false
    // The page itself must not scroll, as `scrollIntoView` would have it.
    if (box.top < view.top || box.bottom > view.bottom) element.scrollTop += box.top - view.top
  }, [id, linked])
  return (
    <div
      ref={log}
      class="log"
      role="log"
      aria-label="Conversation"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
      }}
    >
      <div>
        {transcript?.hasMore && (
          <button
            type="button"
            class="link"
            onClick={() => openConversation(transcript.id, transcript.turns.length + 2 * PAGE)}
          >
            Show older turns
          </button>
        )}
        {isNew && (
          <div class="hint">
            <h1>Ask something</h1>
            <p class="note">Every step, tool call and result shows beside the answer as it happens.</p>
          </div>
        )}
        {transcript?.turns.map((turn) => (
          <TurnItem key={turn.run} conversation={transcript.id} turn={turn} isSelected={turn.run === selected} />
        ))}
      </div>
    </div>
  )
}

function currentOf(transcript: Opened | undefined): ReturnType<typeof watchRun> | undefined {
  const last = transcript?.turns.findLast(({ summary }) => summary && !hasEnded(summary))
  if (!transcript || !last) return undefined
  const store = watchRun({ conversation: transcript.id, run: last.run })
  return hasEnded(store.view.value) ? undefined : store
}
