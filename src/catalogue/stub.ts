import type { AcceptanceService } from '../contract/acceptance.ts'
import type { CatalogueService } from '../contract/catalogue.ts'
import type { Objects } from '../contract/conversation.ts'

/** Returns the one catalogue object of an edge. Each call gets a stub of its own, as a stub belongs to one request. */
export function catalogueStub(
  catalogues: Objects<CatalogueService & AcceptanceService>,
): CatalogueService & AcceptanceService {
  const one = () => catalogues.getByName('catalogue')
  return {
    write: (write) => one().write(write),
    remove: (name, by) => one().remove(name, by),
    history: (name, page) => one().history(name, page),
    version: (name, hash) => one().version(name, hash),
    accept: (tools, by) => one().accept(tools, by),
  }
}
