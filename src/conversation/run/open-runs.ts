import { isTerminal } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import type { JournalPorts } from './journal.ts'
import { type OpenRun, openRun } from './open-run.ts'
import type { StoredRun } from '../store/runs.ts'

export interface OpenRunsPorts extends JournalPorts {
  readonly setup: Setup
}

/** The unfinished runs of a conversation that are in memory, at most one OpenRun for each. */
export class OpenRuns {
  readonly #ports: OpenRunsPorts
  readonly #open = new Map<string, OpenRun>()
  #current: OpenRun | undefined

  constructor(ports: OpenRunsPorts) {
    this.#ports = ports
  }

  /** Returns the unfinished run whose turn it is. */
  current(): OpenRun | undefined {
    if (this.#current && !this.#current.state.finished) return this.#current
    this.#current = undefined
    // A run that cannot be loaded is parked, and then is not the next one any more.
    for (let next = this.#ports.store.next(); next && !this.#current; next = this.#ports.store.next())
      this.#current = this.#open.get(next.id) ?? this.#load(next)
    return this.#current
  }

  /** Returns an unfinished run, folded from its journal if it is not in memory. */
  find(id: string): OpenRun | undefined {
    const open = this.#open.get(id)
    if (open) return open
    const row = this.#ports.store.runs.row(id)
    // Reading the journal of a parked run may be what crashes the object.
    const stored =
      row && row.status !== 'parked' && !isTerminal(row.status) ? this.#ports.store.runs.get(id) : undefined
    return stored && this.#load(stored)
  }

  /** Returns a run only if it is in memory. */
  inMemory(id: string): OpenRun | undefined {
    return this.#open.get(id)
  }

  /** Opens a run that was just stored and whose turn it is, without reading it back. */
  adopt(stored: StoredRun): void {
    this.#current = this.#load(stored, true)
  }

  drop(open: OpenRun): void {
    if (this.#open.get(open.stored.id) === open) this.#open.delete(open.stored.id)
    if (this.#current === open) this.#current = undefined
  }

  /** Forgets all runs, because everything stored is about to be deleted. */
  clear(): void {
    this.#open.clear()
    this.#current = undefined
  }

  #load(stored: StoredRun, isNew = false): OpenRun | undefined {
    const { store, setup } = this.#ports
    const open = openRun(this.#ports, stored, isNew)
    if (open.unknown !== undefined) {
      const reason = `Its journal has an event that this version of the edge does not know: ${open.unknown}.`
      store.park(stored.id, reason)
      setup.report({ event: 'run.parked', runId: stored.id, detail: reason })
      return undefined
    }
    // The journal says how the run stands; the row may have been damaged.
    if (open.state.status !== stored.status) store.runs.setStatus(stored.id, open.state.status)
    this.#open.set(stored.id, open)
    return open
  }
}
