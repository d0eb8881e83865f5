import type { AcceptanceService } from '../contract/acceptance.ts'
import type { CatalogueService } from '../contract/catalogue.ts'
import type { Objects } from '../contract/conversation.ts'
import type { Owner } from '../contract/owner.ts'

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
