import { catalogueStub } from '../catalogue/stub.ts'
import type { Acceptances } from '../contract/acceptance.ts'
import type { Tool, ToolListing } from '../contract/tool.ts'
import { secretOf } from '../contract/bindings.ts'
import { matches } from '../contract/glob.ts'
import { type OutputCheck, outputCheck } from '../host/policy/output.ts'
import { gateTools } from '../host/source/approval-gate.ts'
import { approvedDefinitions } from '../host/source/approved-definitions.ts'
import { type OwnedTools, ownedTools, type StoredParts } from '../host/source/stored-tools.ts'
import { scriptsOf } from '../host/worker/script.ts'
import type { Surface } from '../http/surface.ts'
import { storedDefinitions } from '../http/surfaces/tools/stored-definitions.ts'
import type { SetupParts } from './parts.ts'

/** A feature of an edge: tools that are stored while it runs, and the approval of bound tools that change. */
export interface StoredToolsFeature {
  readonly surface: Surface
  /** Records which definitions of bound tools are approved. Returns undefined without `CATALOG` and `TOOLS`. */
  readonly approvals: (parts: SetupParts) => Acceptances | undefined
  /** Holds back the tools that have changed since their definitions were approved. */
  readonly gate: (tools: readonly Tool[], approvals: Acceptances) => Promise<ToolListing>
  /** Makes the stored tools. Returns undefined without `CATALOG`, `TOOLS` and `DEFINITIONS`. */
  readonly tools: (parts: SetupParts) => ((parts: StoredParts) => OwnedTools) | undefined
  /**
   * Makes the check of results by output schemas: for the bindings in `CHECK_OUTPUTS`, by default those whose tools are
   * not other people's. Returns undefined without `DEFINITIONS`.
   */
  readonly outputs: (parts: SetupParts, isForeign: (binding: string) => boolean) => OutputCheck | undefined
}

/**
 * Stored tools: HTTP requests, aliases, fixed answers, code, and tools of Workers in a dispatch namespace, written by
 * `PUT /tools/{name}` and kept in the catalogue and KV. Needs the bindings `CATALOG`, `TOOLS` and `DEFINITIONS`, and
 * the class `Catalog` among the exports.
 *
 * @example
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, stored: storedTools })
 */
export const storedTools: StoredToolsFeature = {
  surface: { routes: { '/tools': storedDefinitions } },
  gate: gateTools,
  approvals: ({ env: { TOOLS: namespace, CATALOG: catalogues }, report }) =>
    namespace && catalogues && approvedDefinitions({ namespace, catalogue: catalogueStub(catalogues), report }),
  outputs: ({ env: { DEFINITIONS: definitions }, config: { checkOutputs }, report }, isForeign) => {
    const isChecked = (place: string) => (checkOutputs ? matches(checkOutputs, place) : !isForeign(place))
    return definitions && outputCheck({ definitions, isChecked, report })
  },
  tools: ({ env, config, report }) => {
    const { TOOLS: namespace, DEFINITIONS: definitions, CATALOG: catalogues, DISPATCHER: dispatcher } = env
    if (!namespace || !definitions || !catalogues) return undefined
    const options = {
      namespace,
      catalogueOf: (owner: Parameters<typeof catalogueStub>[1]) => catalogueStub(catalogues, owner),
      definitions,
      hosts: config.httpToolHosts,
      most: { names: config.quotas.definitions, bytes: config.quotas.storedBytes },
      secret: (name: string) => secretOf(env, name),
      ...(dispatcher && { scripts: scriptsOf(dispatcher, { now: Date.now }) }),
      report,
    }
    return (parts) => ownedTools(options, parts)
  },
}
