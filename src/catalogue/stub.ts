import type { AcceptanceService, CatalogueService, Owner } from '../contract/catalogue.ts'
import type { KeyOrderService } from '../contract/api-key.ts'
import type { EmbeddingService } from '../contract/model.ts'
import type { Objects } from '../contract/conversation.ts'
import { withDeadline } from '../contract/time-limit.ts'

/** How long the object of the vectors may take to answer, in milliseconds. */
const EMBEDDINGS_MS = 10_000

/** Returns the catalogue object of an owner. Each call gets a stub of its own, as a stub belongs to one request. */
export function catalogueStub(
  catalogues: Objects<CatalogueService & AcceptanceService>,
  owner: Owner = 'edge',
): CatalogueService & AcceptanceService {
  const one = () => catalogues.getByName(owner === 'edge' ? 'catalogue' : owner)
  return {
    write: (write) => one().write(write),
    remove: (name, by) => one().remove(name, by),
    history: (name, page) => one().history(name, page),
    version: (name, hash) => one().version(name, hash),
    size: () => one().size(),
    accept: (tools, by) => one().accept(tools, by),
  }
}

/**
 * Returns the service that keeps the vectors of tool texts. They are in an object of their own, since the bytes of a
 * catalogue count towards the quota of its owner. Rejects if the object does not answer within ten seconds.
 */
export function embeddingsStub(catalogues: Objects<EmbeddingService>): EmbeddingService {
  const one = () => catalogues.getByName('embeddings')
  return {
    embeddings: (model, keys) => withDeadline(EMBEDDINGS_MS, one().embeddings(model, keys)),
    storeEmbeddings: (model, embeddings) => withDeadline(EMBEDDINGS_MS, one().storeEmbeddings(model, embeddings)),
  }
}

/** Returns the service that orders the changes of stored keys: an object of its own. */
export function keyOrderStub(catalogues: Objects<KeyOrderService>): KeyOrderService {
  const one = () => catalogues.getByName('keys')
  return {
    changeKey: (change) => one().changeKey(change),
    disabledKeys: () => one().disabledKeys(),
    tellDisabledKeys: (ids) => one().tellDisabledKeys(ids),
  }
}
