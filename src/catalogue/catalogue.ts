import { DurableObject } from 'cloudflare:workers'
import type {
  Acceptance,
  AcceptanceService,
  Author,
  CatalogueService,
  Change,
  HistoryEntry,
  HistoryPage,
  ToolFingerprint,
  VersionMismatch,
  VersionReply,
  VersionWrite,
} from '../contract/catalogue.ts'
import type { KeyChange, KeyChangeReply, KeyOrderService } from '../contract/api-key.ts'
import { KeyOrder, type StoredKeyNamespace } from '../host/stored/key-order.ts'
import type { EmbeddingService, StoredEmbedding } from '../contract/model.ts'
import type { Report } from '../contract/setup.ts'
import { copyOf, type ToolNamespace } from '../host/stored/version-cache.ts'
import { CatalogueStore, type CurrentVersion } from './store.ts'
import { withDeadline } from '../contract/time-limit.ts'
import { AlarmClock, type AlarmClockPorts } from '../contract/alarm-clock.ts'
import {
  ACCEPTED_KEY,
  encodeCatalogueTerms,
  encodeIndex,
  INDEX_KEY,
  TERMS_KEY,
  versionKey,
} from '../host/stored/copy.ts'
import { encodeTexts, TEXTS_KEY, textsOfVersions } from '../host/stored/texts.ts'

/** The parts that a catalogue is made of. */
export interface CatalogueParts {
  /** Where its read copy is written. */
  readonly namespace: ToolNamespace
  /** Compares a new version with the one before it; both are the stored text of a definition. */
  readonly compare: (before: string, after: string) => Promise<Change>
  /** Where API keys are stored. Default: nowhere. */
  readonly keys?: StoredKeyNamespace | undefined
  readonly report: Report
}

const FIRST_CHANGE: Change = { change: 'created', breaks: [] }

/**
 * The Durable Object that orders the writes of an edge's stored definitions, and of the accepted definitions of other
 * tools, and of stored API keys, and keeps the vectors of tool texts. Its methods are its RPC methods.
 */
export abstract class CatalogueObject<Env>
  extends DurableObject<Env>
  implements CatalogueService, AcceptanceService, EmbeddingService, KeyOrderService
{
  readonly #store: CatalogueStore
  readonly #kvSync: KvSync
  readonly #compare: CatalogueParts['compare']
  readonly #keyOrder: KeyOrder | undefined

  constructor(ctx: DurableObjectState, env: Env, { namespace, compare, keys, report }: CatalogueParts) {
    super(ctx, env)
    const { storage } = ctx
    this.#store = new CatalogueStore(storage)
    this.#compare = compare
    this.#keyOrder = keys && new KeyOrder(keys, this.#store.changedKeys, () => Date.now())
    const setAlarm = (time: number) => storage.setAlarm(time)
    const getAlarm = () => storage.getAlarm()
    this.#kvSync = new KvSync({ store: this.#store, namespace, setAlarm, getAlarm, now: () => Date.now(), report })
    void this.#kvSync.restore()
  }

  async write(write: VersionWrite): Promise<VersionReply> {
    for (;;) {
      const before = this.#store.current(write.name)
      const mismatch = mismatchOf(write, before)
      if (mismatch) return mismatch
      if (before?.hash === write.hash) {
        return { ok: true, status: 'replaced', revision: before.revision, change: 'unchanged', breaks: [] }
      }
      const refusal = this.#store.refusalOf(write, before !== undefined)
      if (refusal) return refusal
      const change = before ? await this.#compare(before.text, write.text) : FIRST_CHANGE
      // If another write came meanwhile, this one is checked again, against that version.
      if (this.#store.current(write.name)?.revision !== before?.revision) continue
      const revision = this.#store.add(write, change, Date.now())
      this.#kvSync.wake()
      return { ok: true, status: before ? 'replaced' : 'created', revision, ...change }
    }
  }

  async remove(name: string, by: Author): Promise<number | undefined> {
    if (!this.#store.current(name)) return undefined
    const revision = this.#store.remove(name, by, Date.now())
    this.#kvSync.wake()
    return revision
  }

  async history(name: string, page: HistoryPage): Promise<HistoryEntry[]> {
    return this.#store.history(name, page)
  }

  async version(name: string, hash: string): Promise<string | undefined> {
    return this.#store.text(name, hash)
  }

  async accept(tools: readonly ToolFingerprint[], by?: Author): Promise<(Acceptance | null)[]> {
    const acceptances = this.#store.accept(tools, by, Date.now())
    this.#kvSync.wake()
    return acceptances
  }

  async embeddings(model: string, keys: readonly string[]): Promise<(Uint8Array | null)[]> {
    return this.#store.embeddings(model, keys)
  }

  async storeEmbeddings(model: string, embeddings: readonly StoredEmbedding[]): Promise<void> {
    this.#store.storeEmbeddings(model, embeddings)
  }

  async size(): Promise<number> {
    return this.#store.size()
  }

  async changeKey(change: KeyChange): Promise<KeyChangeReply> {
    const unavailable = { ok: false, code: 'keys_unavailable', detail: 'KEYS is not bound' } as const
    return this.#keyOrder?.change(change) ?? unavailable
  }

  async disabledKeys(): Promise<readonly string[] | null> {
    return this.#store.disabledKeys()
  }

  async tellDisabledKeys(ids: readonly string[]): Promise<void> {
    this.#store.setDisabledKeys(ids)
  }

  override async alarm(): Promise<void> {
    await this.#kvSync.onAlarm()
  }
}

function mismatchOf({ name, expects }: VersionWrite, before: CurrentVersion | undefined): VersionMismatch | undefined {
  const isExpected = before ? expects?.some((hash) => hash === '*' || hash === before.hash) : expects?.length === 0
  if (expects === undefined || isExpected) return undefined
  const message = before ? `the current version of "${name}" is ${before.hash}` : `there is no "${name}"`
  return {
    ok: false,
    code: 'version_mismatch',
    ...(before && { current: before.hash }),
    issues: [{ path: '', message }],
  }
}

/** Makes the class to export: `export class Catalog extends catalogue(parts) {}`. */
export function catalogue<Env>(
  makeParts: (env: Env) => CatalogueParts,
): new (ctx: DurableObjectState, env: Env) => CatalogueObject<Env> {
  return class extends CatalogueObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, makeParts(env))
    }
  }
}

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
/** How long KV may take for one write, in milliseconds. */
const PUT_MS = 30_000
/** How many versions, which may be large, are held in memory at a time. */
const AT_A_TIME = 6

/**
 * Keeps the copy in KV up to date with the catalogue, driven by the object's alarm. Versions are written before the
 * index that names them. The index and the accepted definitions of other tools are each written at most once a second,
 * and the texts and the index for the tool search at most once in ten seconds, however many writes there are. A failed
 * write is retried until it succeeds.
 */
class KvSync {
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
    const copy = copyOf(this.#ports.namespace, store.owner())
    const put = (key: string, value: string) => withDeadline(PUT_MS, copy.put(key, value))
    const versions = store.uncopied(VERSIONS_AN_ALARM)
    for (let at = 0; at < versions.length; at += AT_A_TIME) {
      const some = versions.slice(at, at + AT_A_TIME)
      await Promise.all(
        some.map(async ({ revision, name, hash }) => {
          await put(versionKey(name, hash), store.text(name, hash) ?? '')
          store.markCopied(revision)
        }),
      )
    }
    const { ready, copied } = store.revisions()
    if (ready > copied) {
      await put(INDEX_KEY, encodeIndex(ready, store.index(ready)))
      const acceptances = store.acceptances(ready)
      if (acceptances.length > 0) await put(ACCEPTED_KEY, encodeIndex(ready, acceptances))
      store.setCopied(ready)
    }
    await this.#copyTexts(put)
  }

  async #copyTexts(put: ToolNamespace['put']): Promise<void> {
    const { store, now } = this.#ports
    const { copied, areTextsOld } = store.revisions()
    if (!areTextsOld || now() < this.#textsAt + TEXTS_EVERY_MS) return
    const { length: size } = store.index(copied)
    await put(TEXTS_KEY, encodeTexts(copied, size, store.texts(copied)))
    await put(TERMS_KEY, encodeCatalogueTerms(copied, size, textsOfVersions(size, store.texts(copied))))
    store.setTexts(copied)
    this.#textsAt = now()
  }
}
