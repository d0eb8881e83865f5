import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLoaded } from '../api/loaded.ts'
import { Icon } from '../part/icon.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { runLook, StateBadge } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { moment } from '../part/text.ts'
import { go, hrefOf, type RunAddress, type StudioRoute } from '../route.ts'
import { findListed } from '../runs/run-query.ts'
import { Chart } from './chart.tsx'
import { cancel } from './decide.ts'
import { Replay } from './replay.tsx'
import { Figures, ItemDetail, type ShownRun, useRun } from './run-panel.tsx'
import { hasEnded } from './run-view.ts'

type RunRoute = Extract<StudioRoute, { readonly page: 'run' }>

/** A run on a page of its own: figures, the timeline with its overview, and the details of what is selected in it. */
export function RunPage({ conversation, run: id, item }: RunRoute): JSX.Element {
  const address: RunAddress = { conversation, run: id }
  const { state: listing } = useLoaded(() => findListed(id), [id])
  const { question, key, created, ended } = listing.value.value ?? {}
  const shownRun = useRun(address, ended)
  const { store, run, timeline, replayed } = shownRun
  const isReplaying = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const hrefTo = (next?: string) => hrefOf({ page: 'run', ...address, ...(next && { item: next }) })
  const select = (next: string) => {
    go({ page: 'run', ...address, item: next }, true)
    // The row is drawn first.
    requestAnimationFrame(() => document.querySelector('.tl [aria-current]')?.scrollIntoView({ block: 'center' }))
  }
  return (
    <>
      <RunHead of={shownRun} address={address} question={question ?? ''} isReplaying={isReplaying} error={error} />
      <div class="bar figures-bar">
        <Figures run={run} timeline={timeline} />
        {created !== undefined && (
          <dl class="figures nophone">
            <div>
              <dt>Started</dt>
              <dd>
                {moment(created)} {key !== undefined && <small>key {key}</small>}
              </dd>
            </div>
          </dl>
        )}
      </div>
      {[error.value, store.error.value].map((problem) => problem !== undefined && <ErrorNote error={problem} />)}
      {isReplaying.value && <Replay store={store} onShow={(view) => (replayed.value = view)} />}
      <div class={item === undefined ? 'split stacked' : 'split has-detail'}>
        <section aria-label="Steps">
          <div class="scroll" tabIndex={0}>
            <Chart timeline={timeline} selected={item} hrefOf={hrefTo} onSelect={select} />
          </div>
        </section>
        <section class="sheet" aria-label="Details">
          <div class="scroll" tabIndex={0}>
            <ItemDetail run={run} address={address} item={item} hrefTo={hrefTo} />
          </div>
        </section>
      </div>
    </>
  )
}

interface RunHeadProps {
  readonly of: ShownRun
  readonly address: RunAddress
  readonly question: string
  readonly isReplaying: Signal<boolean>
  readonly error: Signal<unknown>
}

/** What was asked, how the run stands, and what can be done with it. */
function RunHead({ of: { store, run }, address, question, isReplaying, error }: RunHeadProps): JSX.Element {
  const isOver = hasEnded(store.view.value)
  return (
    <header class="head">
      <a class="btn quiet icon" href={hrefOf({ page: 'runs' })} aria-label="Back to runs">
        <Icon name="back" />
      </a>
      <h1 class="cut" title={visible(question)}>
        {visible(question) || 'Run'}
      </h1>
      <span role="status">
        <StateBadge look={runLook(run.status, run.which)} />
      </span>
      <span class="grow" />
      {isOver && (
        <button
          type="button"
          class="btn quiet nophone"
          aria-pressed={isReplaying.value}
          onClick={() => (isReplaying.value = !isReplaying.value)}
        >
          Replay
        </button>
      )}
      {!isOver && run.status !== 'queued' && (
        <button
          type="button"
          class="btn"
          onClick={() => cancel(address).catch((problem: unknown) => (error.value = problem))}
        >
          <Icon name="stop" />
          Stop
        </button>
      )}
      <a class="btn" href={hrefOf({ page: 'chat', ...address })} aria-label="Open chat">
        <Icon name="chat" />
        <span class="nophone">Open chat</span>
      </a>
    </header>
  )
}
