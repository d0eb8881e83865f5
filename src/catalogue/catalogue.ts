import { DurableObject } from 'cloudflare:workers'
import type { Acceptance, AcceptanceService, ToolFingerprint } from '../contract/acceptance.ts'
import type { EmbeddingService, StoredEmbedding } from '../contract/model.ts'
import type { Report } from '../contract/setup.ts'
import type { ToolNamespace } from '../host/stored/version-cache.ts'
import type {
  Author,
  CatalogueService,
  Change,
  HistoryEntry,
  HistoryPage,
  VersionMismatch,
  VersionReply,
  VersionWrite,
} from '../contract/catalogue.ts'
import { KvSync } from './kv-sync.ts'
import { CatalogueStore, type CurrentVersion } from './store.ts'

/** The parts that a catalogue is made of. */
export interface CatalogueParts {
  /** Where its read copy is written. */
  readonly namespace: ToolNamespace
  /** Compares a new version with the one before it; both are the stored text of a definition. */
  readonly compare: (before: string, after: string) => Promise<Change>
  readonly report: Report
}

const FIRST_CHANGE: Change = { change: 'created', breaks: [] }

/**
 * The Durable Object that orders the writes of an edge's stored definitions, and of the accepted definitions of other
 * tools, and keeps the vectors of tool texts. Its methods are its RPC methods.
 */
export abstract class CatalogueObject<Env>
  extends DurableObject<Env>
  implements CatalogueService, AcceptanceService, EmbeddingService
{
  readonly #store: CatalogueStore
  readonly #kvSync: KvSync
  readonly #compare: CatalogueParts['compare']

  constructor(ctx: DurableObjectState, env: Env, { namespace, compare, report }: CatalogueParts) {
    super(ctx, env)
    const { storage } = ctx
    this.#store = new CatalogueStore(storage)
    this.#compare = compare
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
