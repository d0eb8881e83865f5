import { identityTokens } from '../http/middleware/token.ts'
import { openApi } from '../http/surfaces/openapi.ts'
import { studio } from './studio.ts'
import { agUi } from '../http/surfaces/ag-ui.ts'
import { chatCompletions } from '../http/surfaces/chat-completions.ts'
import { mcp } from '../http/surfaces/mcp.ts'
import { metricsRoute } from '../http/surfaces/metrics.ts'
import { responsesApi } from '../http/surfaces/responses.ts'
import { runList } from '../http/surfaces/run-list.ts'
import { uiChat } from '../http/surfaces/ui-chat.ts'
import { linkedFiles } from '../http/runs/fetch-files.ts'
import { backups } from './backups.ts'
import { mcpConnections } from './connections.ts'
import type { EdgeOptions } from './create-edge.ts'
import { disabledKeys } from './disabled-keys.ts'
import { allProviders } from './providers.ts'
import { metrics } from './metrics.ts'
import { reportedOutcomes } from './reported-outcomes.ts'
import { shardedDirectories } from './sharded-directories.ts'
import { storedKeys } from './stored-keys.ts'
import { storedTools } from './stored-tools.ts'
import { summaries } from './summaries.ts'
import { toolPolicies } from './tool-policies.ts'
import { toolSearch } from './tool-search.ts'
import { traces } from './traces.ts'
import { webhooks } from './webhooks.ts'

/**
 * All providers, surfaces and features.
 *
 * @example createEdge({ ...everything, hooks: [hook] })
 */
export const everything = {
  providers: allProviders,
  surfaces: [studio, openApi, chatCompletions, responsesApi, uiChat, agUi, mcp, metricsRoute, runList],
  stored: storedTools,
  search: toolSearch(),
  identity: identityTokens,
  policies: toolPolicies,
  disabledKeys,
  storedKeys,
  files: linkedFiles,
  connections: mcpConnections,
  backups,
  outcomes: reportedOutcomes,
  webhooks,
  summaries,
  shards: shardedDirectories,
  metrics,
  traces,
} satisfies EdgeOptions
