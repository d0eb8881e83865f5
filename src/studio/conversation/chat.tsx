import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { costText, hasScope } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { Empty, Unloaded } from '../part/problem.tsx'
import { runLook, State } from '../part/state.tsx'
import { quantity } from '../part/text.ts'
import { hrefOf, type StudioRoute } from '../route.ts'
import { RunPanel } from '../run/run-panel.tsx'
import { type RunStore, watchRun } from '../run/run-store.ts'
import { callsOf, hasEnded } from '../run/run-view.ts'
import { toolList } from '../tool/catalogue.ts'
import { Composer } from './composer.tsx'
import { followOthers, type Opened, opened, openConversation, openingError, PAGE } from './conversation-store.ts'
import { examplesOf } from './examples.ts'
import { ConversationHead } from './head.tsx'
import { draft } from './settings.ts'
import { TurnItem } from './turn.tsx'

type ChatRoute = Extract<StudioRoute, { readonly page: 'chat' }>

/** How often a chat is searched for runs that began elsewhere, in milliseconds. */
const FOLLOW_MS = 5000

/** A conversation, and beside it the run that is selected in it. */
export function Chat({ conversation, run, item }: ChatRoute): JSX.Element {
  useEffect(() => {
    // A conversation that a question has just created is shown already.
    if (opened.peek()?.id !== conversation || conversation === undefined) void openConversation(conversation)
    if (conversation === undefined) return undefined
    const timer = setInterval(() => document.hidden || followOthers(conversation), FOLLOW_MS)
    return () => clearInterval(timer)
  }, [conversation])
  if (!hasScope('chat')) {
    return (
      <Empty icon="key" title="This key cannot chat" text="It lacks the scope chat. The sidebar has what it can do." />
    )
  }
  if (conversation !== undefined && openingError.value !== undefined) return <NotOpened conversation={conversation} />
  const transcript = opened.value?.id === conversation ? opened.value : undefined
  const selected = run ?? transcript?.turns.findLast(({ summary }) => summary)?.run
  const turn = transcript?.turns.find((each) => each.run === selected)
  const current = currentOf(transcript)
  const isPanelShown = conversation !== undefined && selected !== undefined && turn?.summary !== undefined
  return (
    <>
      <ConversationHead id={conversation} transcript={transcript} current={current} />
      {isPanelShown && <RunBar conversation={conversation} run={selected} />}
      <div class={`split ${isPanelShown ? 'even' : 'alone'} ${isPanelShown && item !== undefined ? 'has-detail' : ''}`}>
        <section aria-label="Chat">
          {conversation === undefined ? (
            <Hero />
          ) : (
            <Transcript transcript={transcript} selected={selected} linked={run} />
          )}
          <Composer conversation={conversation} current={current} />
        </section>
        {isPanelShown && (
          <RunPanel address={{ conversation, run: selected }} item={item} endedAt={turn?.summary?.ended} />
        )}
      </div>
    </>
  )
}

/** Says why a conversation is not shown. */
function NotOpened({ conversation }: { readonly conversation: string }): JSX.Element {
  return (
    <>
      <header class="head">
        <h1>This chat cannot be shown</h1>
      </header>
      <Unloaded error={openingError.value} what="The chat" onRetry={() => void openConversation(conversation)} />
      <div class="bar center-line">
        <a class="btn" href={hrefOf({ page: 'runs' })}>
          All runs
        </a>
      </div>
    </>
  )
}

/** On a phone: the run of the last turn in a line, which leads to its page. */
function RunBar({ conversation, run }: { readonly conversation: string; readonly run: string }): JSX.Element {
  const view = watchRun({ conversation, run }).view.value
  const last = view.steps.at(-1)?.number
  const words = [
    quantity(view.steps.length, 'step'),
    quantity(callsOf(view).length, 'call'),
    view.usage?.cost !== undefined && costText(view.usage.cost),
  ]
  const look = runLook(view.status, view.which)
  return (
    <a class="runbar" href={hrefOf({ page: 'run', conversation, run })}>
      <State look={view.status === 'running' && last ? { ...look, word: `Step ${last}` } : look} />
      <span class="dim num">{words.filter(Boolean).join(' · ')}</span>
      <span class="grow" />
      <Icon name="right" />
    </a>
  )
}

interface TranscriptProps {
  readonly transcript: Opened | undefined
  readonly selected: string | undefined
  /** The run that the address names. */
  readonly linked: string | undefined
}

/**
 * The turns, of which the newest lines stay in view until the reader scrolls up. A question that is sent is scrolled to, and
 * so is the turn of a linked run.
 */
function Transcript({ transcript, selected, linked }: TranscriptProps): JSX.Element {
  const log = useRef<HTMLDivElement>(null)
  const id = transcript?.id
  const newest = transcript?.turns.at(-1)?.run
  useLayoutEffect(() => {
    // From the end of a reversed column, 0 is the newest line.
    if (log.current) log.current.scrollTop = 0
  }, [id, newest])
  useLayoutEffect(() => {
    const element = log.current
    const turn = element?.querySelector('[aria-current=true].turn')
    if (!element || !turn || linked === undefined || linked === newest) return
    const [view, box] = [element.getBoundingClientRect(), turn.getBoundingClientRect()]
    // The page itself must not scroll, as `scrollIntoView` would have it.
    if (box.top < view.top || box.bottom > view.bottom) element.scrollTop += box.top - view.top
  }, [id, linked])
  return (
    <div ref={log} class="scroll end" role="log" aria-label="Conversation" tabIndex={0}>
      <div>
        <div class="thread">
          {transcript?.hasMore && (
            <button
              type="button"
              class="btn quiet"
              onClick={() => openConversation(transcript.id, transcript.turns.length + 2 * PAGE)}
            >
              Show older turns
            </button>
          )}
          {transcript?.turns.map((turn) => (
            <TurnItem key={turn.run} conversation={transcript.id} turn={turn} isSelected={turn.run === selected} />
          ))}
        </div>
      </div>
    </div>
  )
}

/** The page of a new chat: questions that the tools on offer can answer. */
function Hero(): JSX.Element {
  const tools = toolList.value
  const examples = examplesOf(tools)
  const offered = tools.filter(({ offered, available }) => offered && available).length
  return (
    <div class="scroll" tabIndex={0}>
      <div class="hero stack">
        <div>
          <h2 class="big-title">What should the tools do?</h2>
          <p class="dim">Every step, call, token and cost shows beside the answer while it happens.</p>
        </div>
        {examples.length > 0 && (
          <ul class="tries" aria-label="Examples">
            {examples.map(({ question, tool, effect }) => (
              <li key={tool}>
                <button type="button" onClick={() => (draft.value = question)}>
                  <span>{question}</span>
                  <small>
                    {tool} · {effect}
                  </small>
                </button>
              </li>
            ))}
          </ul>
        )}
        {tools.length > 0 && (
          <p class="hint">
            {`Made from the tools of this edge: ${offered.toLocaleString('en')} offered by default, ${(tools.length - offered).toLocaleString('en')} on request.`}{' '}
            <a class="link" href={hrefOf({ page: 'tools' })}>
              See the tools
            </a>
          </p>
        )}
      </div>
    </div>
  )
}

function currentOf(transcript: Opened | undefined): RunStore | undefined {
  const last = transcript?.turns.findLast(({ summary }) => summary && !hasEnded(summary))
  if (!transcript || !last) return undefined
  const store = watchRun({ conversation: transcript.id, run: last.run })
  return hasEnded(store.view.value) ? undefined : store
}
