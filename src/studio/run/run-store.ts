import { type Signal, signal } from '@preact/signals'
import { follow } from '../../client/request.ts'
import type { RunSummary } from '../../contract/conversation.ts'
import type { RunEvent } from '../../contract/event.ts'
import { fetchJson, part, sendRequest } from '../api/session.ts'
import type { RunAddress } from '../route.ts'
import { foldEvent } from './fold.ts'
import { emptyRun, hasEnded, type RunView } from './run-view.ts'

/** A run that the page follows. */
export interface RunStore {
  readonly address: RunAddress
  readonly view: Signal<RunView>
  /** All events so far, for replay. */
  readonly events: readonly RunEvent[]
  /** Why it is not followed any more, if the edge refused or could not be reached. */
  readonly error: Signal<unknown>
  /** Whether events are being read. */
  readonly isOpen: Signal<boolean>
  /** When the run ended, in epoch milliseconds, if that is known. */
  readonly endedAt: Signal<number | undefined>
}

interface OwnStore extends RunStore {
  readonly events: RunEvent[]
  /** Whether the run was under way when the page began to follow it. */
  isLive: boolean
}

/** Events are shown together once in this time, however fast they come. */
const FRAME_MS = 30

const stores = new Map<string, OwnStore>()

/** Follows a run from its start, or continues where it was left. `opened` is the response that already has its events. */
export function watchRun(address: RunAddress, opened?: Response): RunStore {
  const id = `${address.conversation}/${address.run}`
  const store = stores.get(id) ?? newStore(address, opened !== undefined)
  stores.set(id, store)
  if (!store.isOpen.peek() && !hasEnded(store.view.peek())) void read(store, opened)
  return store
}

/** Forgets all runs of a conversation, as after its deletion. */
export function forgetRuns(conversation: string): void {
  for (const id of stores.keys()) if (id.startsWith(`${conversation}/`)) stores.delete(id)
}

/** Finds out when a run ended. */
export async function findEnd({ address: { conversation, run }, endedAt }: RunStore): Promise<void> {
  const runs = await fetchJson<RunSummary[]>(`/conversations/${part(conversation)}/runs`)
  endedAt.value = runs.find(({ id }) => id === run)?.ended ?? endedAt.peek()
}

/** The path of a run. */
export function runPath({ conversation, run }: RunAddress): string {
  return `/conversations/${part(conversation)}/runs/${part(run)}`
}

/** The path of a call of a run. */
export function callPath(address: RunAddress, call: string): string {
  return `${runPath(address)}/calls/${part(call)}`
}

function newStore(address: RunAddress, isLive: boolean): OwnStore {
  return {
    address,
    view: signal(emptyRun(address.run)),
    events: [],
    error: signal(undefined),
    isOpen: signal(false),
    endedAt: signal(undefined),
    isLive,
  }
}

/** Reads the events of a run until it ends or waits; after a lost connection, on from the last one. */
async function read(store: OwnStore, opened: Response | undefined): Promise<void> {
  const { address, events, view, error, isOpen } = store
  let response = opened
  isOpen.value = true
  error.value = undefined
  const open = async () => {
    const first = response
    response = undefined
    const seq = events.at(-1)?.seq
    const headers = { ...(seq !== undefined && { 'last-event-id': `${address.run}.${seq}` }) }
    return first ?? sendRequest(`${runPath(address)}/events`, { headers })
  }
  const pending: RunEvent[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const show = () => {
    timer = undefined
    view.value = pending.splice(0).reduce(foldEvent, view.peek())
  }
  try {
    for await (const event of follow(open, { mayReopen: true, signal: undefined })) {
      events.push(event)
      pending.push(event)
      timer ??= setTimeout(show, FRAME_MS)
      if (event.type === 'run.finished' && store.isLive) store.endedAt.value = Date.now()
      // Past events come at once; what comes after a wait happens now.
      if (event.type === 'run.waiting') store.isLive = true
    }
  } catch (problem) {
    error.value = problem
  }
  clearTimeout(timer)
  show()
  isOpen.value = false
}
