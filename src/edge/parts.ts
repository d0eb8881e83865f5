/**
 * All parts but those that serve pages: the package exports them by these names, and `everything` uses them in this
 * order. A new part is written in a file beside this one and named here.
 */
import { agUi } from '../http/surfaces/ag-ui.ts'
import { chatCompletions } from '../http/surfaces/chat-completions.ts'
import { metricsRoute } from '../http/surfaces/metrics.ts'
import { responsesApi } from '../http/surfaces/responses.ts'
import { runList } from '../http/surfaces/run-list.ts'
import { uiChat } from '../http/surfaces/ui-chat.ts'
import { codeMode } from './code-mode.ts'
import { linkedFiles, summaries, webhooks } from './conversations.ts'
import { shardedDirectories } from './directories.ts'
import { disabledKeys, identityTokens, storedKeys } from './keys.ts'
import { metrics, traces } from './observe.ts'
import type { Part } from './part.ts'
import { backups, mcp, reportedOutcomes } from './signing.ts'
import { toolSearch } from './tool-search.ts'
import { mcpConnections, storedTools, toolPolicies } from './tools.ts'

export {
  agUi,
  backups,
  chatCompletions,
  codeMode,
  disabledKeys,
  identityTokens,
  linkedFiles,
  mcp,
  mcpConnections,
  metrics,
  metricsRoute,
  reportedOutcomes,
  responsesApi,
  runList,
  shardedDirectories,
  storedKeys,
  storedTools,
  summaries,
  toolPolicies,
  toolSearch,
  traces,
  uiChat,
  webhooks,
}

/** Makes one of each part, as it is without options. */
export function allParts(): readonly Part[] {
  return [
    chatCompletions,
    responsesApi,
    uiChat,
    agUi,
    mcp,
    metricsRoute,
    runList,
    storedTools,
    toolSearch(),
    codeMode(),
    identityTokens,
    toolPolicies,
    disabledKeys,
    storedKeys,
    linkedFiles,
    mcpConnections,
    backups,
    reportedOutcomes,
    webhooks,
    summaries,
    shardedDirectories,
    metrics,
    traces,
  ]
}
