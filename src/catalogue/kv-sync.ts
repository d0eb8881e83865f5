import { AlarmClock, type AlarmClockPorts } from '../contract/alarm-clock.ts'
import type { Report } from '../contract/setup.ts'
import type { ToolNamespace } from '../host/stored/version-cache.ts'
import { ACCEPTED_KEY, encodeIndex, INDEX_KEY, versionKey } from '../host/stored/copy.ts'
import { copyOf } from '../host/stored/owned-copy.ts'
import { encodeCatalogueTerms, TERMS_KEY } from '../host/stored/terms.ts'
import { encodeTexts, TEXTS_KEY, textsOfVersions } from '../host/stored/texts.ts'
import type { CatalogueStore } from './store.ts'

export interface KvSyncPorts extends Pick<AlarmClockPorts, 'setAlarm' | 'getAlarm'> {
  readonly store: CatalogueStore
  /** Where the copy is written. */
  readonly namespace: ToolNamespace
  readonly now: () => number
  readonly report: Report
}

/** KV accepts one write per second to the same key. */
const EVERY_MS = 1000
const RETRY_MS = 10_000
/** The texts of thousands of tools are megabytes, and no run depends on their being current. */
const TEXTS_EVERY_MS = 10_000
/** A Worker may do 1,000 KV operations in one alarm. */
const VERSIONS_AN_ALARM = 500
/** How many versions, which may be large, are held in memory at a time. */
const AT_A_TIME = 6

/**
 * Keeps the copy in KV up to date with the catalogue, driven by the object's alarm. Versions are written before the
 * index that names them. The index and the accepted definitions of other tools are each written at most once a second,
 * and the texts and the index for the tool search at most once in ten seconds, however many writes there are. A failed
 * write is retried until it succeeds.
 */
export class KvSync {
  readonly #ports: KvSyncPorts
  readonly #clock: AlarmClock
  #lastAt = -Infinity
  #textsAt = -Infinity

  constructor(ports: KvSyncPorts) {
    this.#ports = ports
    const { setAlarm, getAlarm, report } = ports
    this.#clock = new AlarmClock({ setAlarm, getAlarm, nextDue: () => this.#nextDue(), report })
  }

  /** Sets the alarm if it is lost although the copy is behind. */
  restore(): Promise<void> {
    return this.#clock.restore()
  }

  /** Sets the alarm. Called synchronously with every write, so that both are stored together. */
  wake(delayMs = 0): void {
    this.#clock.wakeAt(Math.max(this.#ports.now() + delayMs, this.#lastAt + EVERY_MS))
  }

  /** Returns when the copy is to be written, in epoch milliseconds; Infinity if it is up to date. */
  #nextDue(): number {
    const { ready, copied, areTextsOld } = this.#ports.store.revisions()
    const isBehind = ready > copied || areTextsOld || this.#ports.store.uncopied(1).length > 0
    return isBehind ? Math.max(this.#ports.now(), this.#lastAt + EVERY_MS) : Infinity
  }

  /** Handles the alarm. Never rejects. */
  async onAlarm(): Promise<void> {
    this.#clock.ring()
    const { now, store, report } = this.#ports
    // This alarm was set while the last copy was still being written.
    if (now() < this.#lastAt + EVERY_MS) return this.wake()
    try {
      await this.#copy()
      this.#lastAt = now()
      const { ready, copied, areTextsOld } = store.revisions()
      if (ready > copied || store.uncopied(1).length > 0) this.wake()
      else if (areTextsOld) this.wake(TEXTS_EVERY_MS)
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      report({ event: 'catalogue.not_copied', detail })
      this.#lastAt = now()
      this.wake(RETRY_MS)
    }
  }

  async #copy(): Promise<void> {
    const { store } = this.#ports
    const namespace = copyOf(this.#ports.namespace, store.owner())
    const versions = store.uncopied(VERSIONS_AN_ALARM)
    for (let at = 0; at < versions.length; at += AT_A_TIME) {
      const some = versions.slice(at, at + AT_A_TIME)
      await Promise.all(
        some.map(async ({ revision, name, hash }) => {
          await namespace.put(versionKey(name, hash), store.text(name, hash) ?? '')
          store.markCopied(revision)
        }),
      )
    }
    const { ready, copied } = store.revisions()
    if (ready > copied) {
      await namespace.put(INDEX_KEY, encodeIndex(ready, store.index(ready)))
      const acceptances = store.acceptances(ready)
      if (acceptances.length > 0) await namespace.put(ACCEPTED_KEY, encodeIndex(ready, acceptances))
      store.setCopied(ready)
    }
    await this.#copyTexts(namespace)
  }

  async #copyTexts(namespace: ToolNamespace): Promise<void> {
    const { store, now } = this.#ports
    const { copied, areTextsOld } = store.revisions()
    if (!areTextsOld || now() < this.#textsAt + TEXTS_EVERY_MS) return
    const { length: size } = store.index(copied)
    await namespace.put(TEXTS_KEY, encodeTexts(copied, size, store.texts(copied)))
    await namespace.put(TERMS_KEY, encodeCatalogueTerms(copied, size, textsOfVersions(size, store.texts(copied))))
    store.setTexts(copied)
    this.#textsAt = now()
  }
}
