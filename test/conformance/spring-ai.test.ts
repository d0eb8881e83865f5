import { vi } from 'vitest'
import { conformance, type Subjects } from './rows.ts'
import { answers } from './spring-ai/answers.ts'
import { augmented } from './spring-ai/augmented.ts'
import { author } from './spring-ai/author.ts'
import { calls } from './spring-ai/calls.ts'
import { ends } from './spring-ai/ends.ts'
import { faults } from './spring-ai/faults.ts'
import { hooks } from './spring-ai/hooks.ts'
import { indexes } from './spring-ai/indexes.ts'
import { limits } from './spring-ai/limits.ts'
import { loop } from './spring-ai/loop.ts'
import { mcp } from './spring-ai/mcp.ts'
import { memories } from './spring-ai/memories.ts'
import { observed } from './spring-ai/observed.ts'
import { options } from './spring-ai/options.ts'
import { results } from './spring-ai/results.ts'
import { schemas } from './spring-ai/schemas.ts'
import { search } from './spring-ai/search.ts'
import { settings } from './spring-ai/settings.ts'
import { stream } from './spring-ai/stream.ts'

/** Spring AI's classes, annotations and options that the rows are about. */
const SUBJECTS: Subjects = [
  [1, 'ToolCallingManager.executeToolCalls'],
  [4, 'ToolCallbackResolver'],
  [6, 'ToolCallingManager.executeToolCalls'],
  [7, 'returnDirect'],
  [11, 'ToolExecutionException'],
  [12, 'ToolCallingObservationContext'],
  [13, 'ToolContext'],
  [14, 'ToolCallLimits'],
  [22, 'ToolCallback.call'],
  [26, 'ToolCallingManager.executeToolCalls'],
  [27, 'ToolExecutionResult, returnDirect'],
  [32, 'ToolCallingChatOptions.toolCallbacks'],
  [33, 'ToolCallingChatOptions.toolContext'],
  [34, 'ToolCallingChatOptions'],
  [36, 'ChatClient.tools'],
  [37, 'ChatClient.toolContext'],
  [38, 'ChatClient.options'],
  [39, 'ChatClient.tools, ToolCallbackProvider'],
  [41, 'ChatClient.toolContext'],
  [42, 'ChatClient.tools'],
  [43, 'ToolCallingAdvisor'],
  [48, 'ToolCallingAdvisor, returnDirect'],
  [49, 'ToolExecutionEligibilityChecker'],
  [51, 'ToolCallingAdvisor, Usage'],
  [53, 'ToolCallingAdvisor.adviseStream'],
  [58, 'disableInternalConversationHistory'],
  [60, 'ToolCallLimitExceededException'],
  [61, 'ToolCallingAdvisor.doBeforeCall, doAfterCall'],
  [63, 'UsageAccumulator'],
  [64, 'ChatClient, auto-registered ToolCallingAdvisor'],
  [72, 'ToolCallResultConverter'],
  [77, 'MethodToolCallback'],
  [79, 'MethodToolCallback, ToolContext'],
  [80, 'MethodToolCallback, ToolExecutionException'],
  [81, 'ToolExecutionExceptionProcessor'],
  [86, 'FunctionToolCallback'],
  [89, '@Tool, MethodToolCallbackProvider'],
  [92, '@Tool(name)'],
  [93, '@Tool(description)'],
  [94, 'JsonSchemaGenerator'],
  [95, '@ToolParam'],
  [96, 'JsonSchemaGenerator'],
  [98, 'JsonSchemaGenerator, ToolContext'],
  [99, 'JsonSchemaGenerator'],
  [102, 'JsonHelper'],
  [103, 'AugmentedToolCallback'],
  [107, 'AugmentedToolCallbackProvider'],
  [109, 'MessageWindowChatMemory'],
  [113, 'MessageChatMemoryAdvisor'],
  [117, 'ToolSearchToolCallingAdvisor'],
  [127, 'toolSearchTool'],
  [128, 'ToolIndexEvictionStrategy'],
  [129, 'RegexToolIndex'],
  [130, 'LuceneToolIndex, VectorToolIndex'],
  [131, 'ToolCallingObservationConvention'],
  [135, 'spring.ai.tools.resolution.fallback'],
  [136, 'spring.ai.tools.limits'],
  [137, 'spring.ai.tools.throw-exception-on-error'],
  [138, 'spring.ai.chat.client.tool-search-advisor'],
  [139, 'SyncMcpToolCallback'],
  [143, 'McpToolNamePrefixGenerator'],
  [144, 'McpToolFilter'],
  [145, 'McpToolUtils.prefixedToolName'],
  [146, 'McpToolUtils.toSyncToolSpecification'],
  [147, 'ToolContextToMcpMetaConverter'],
  [148, 'OpenAiChatModel, ChunkMerger'],
  [149, 'StructuredOutputValidationAdvisor'],
  [150, 'ToolCallingAdvisor'],
  [151, 'tool call confirmation'],
  [152, 'session memory, turn-aware compaction'],
  [153, 'DecisionModel, ChoiceQuestion'],
]

// A tool Worker logs what its tools throw, and here they throw on purpose.
vi.spyOn(console, 'error').mockImplementation(() => {})

conformance('Spring AI', 153, SUBJECTS, [
  ...[...calls, ...limits, ...answers, ...options],
  ...[...loop, ...stream, ...hooks],
  ...[...results, ...faults, ...author, ...schemas, ...augmented],
  ...[...memories, ...search, ...indexes, ...observed, ...settings, ...mcp, ...ends],
])
