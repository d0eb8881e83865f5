import { vi } from 'vitest'
import { calls } from './langchain4j/calls.ts'
import { defaults } from './langchain4j/defaults.ts'
import { definitions } from './langchain4j/definitions.ts'
import { described } from './langchain4j/described.ts'
import { direct } from './langchain4j/direct.ts'
import { faults } from './langchain4j/faults.ts'
import { kinds } from './langchain4j/kinds.ts'
import { loop } from './langchain4j/loop.ts'
import { mcp } from './langchain4j/mcp.ts'
import { memories } from './langchain4j/memory.ts'
import { offer } from './langchain4j/offer.ts'
import { results } from './langchain4j/results.ts'
import { searches } from './langchain4j/search.ts'
import { skills } from './langchain4j/skills.ts'
import { stream } from './langchain4j/stream.ts'
import { texts } from './langchain4j/texts.ts'
import { ROWS } from './langchain4j/told.ts'
import { undo } from './langchain4j/undo.ts'
import { unpinnedCalls } from './langchain4j/unpinned-calls.ts'
import { unpinnedOffers } from './langchain4j/unpinned-offers.ts'
import { unpinnedRuns } from './langchain4j/unpinned-runs.ts'
import { values } from './langchain4j/values.ts'
import { watch } from './langchain4j/watch.ts'
import { conformance, type Subjects } from './rows.ts'

/** LangChain4j's classes, annotations and options that the rows are about. */
const SUBJECTS: Subjects = [
  [1, 'DefaultToolExecutor, @ToolMemoryId'],
  [2, 'DefaultToolExecutor'],
  [10, '@P(required = false), Optional'],
  [11, 'ToolArgumentsException'],
  [12, 'ToolExecutor'],
  [17, 'ToolExecutionRequestUtil'],
  [20, 'ToolExecutionResult'],
  [21, 'ToolExecutionResultMessage'],
  [22, '@P(defaultValue)'],
  [27, 'AiServices.tools'],
  [28, '@P(required = false)'],
  [29, '@P(defaultValue)'],
  [30, 'ToolSpecifications'],
  [32, '@ToolMemoryId'],
  [33, '@Tool(metadata)'],
  [34, '@P(required, defaultValue)'],
  [35, '@P(value, description)'],
  [36, '@Tool, inherited'],
  [37, '@P(name)'],
  [38, 'ToolSpecification'],
  [39, 'AiServices.tools, @Tool'],
  [41, 'executeToolsConcurrently'],
  [42, '@Tool, results'],
  [47, '@P(required = false)'],
  [48, '@Tool, polymorphic parameters'],
  [49, 'ReturnBehavior'],
  [55, 'toolExecutionErrorHandler, toolArgumentsErrorHandler'],
  [59, 'hallucinatedToolNameStrategy'],
  [60, 'maxToolCallingRoundTrips'],
  [61, 'AiServices.tools(Map)'],
  [62, 'ToolProvider'],
  [64, 'ToolProvider.isDynamic'],
  [67, 'InvocationParameters'],
  [68, '@Tool on an AI service'],
  [69, 'Result<Void>'],
  [70, 'chatRequestTransformer'],
  [71, 'Result, InvocationContext'],
  [72, 'AiServices without ChatMemory'],
  [73, 'compensateOnToolErrors, @CompensateFor'],
  [82, 'toolSearchStrategy'],
  [85, 'SimpleToolSearchStrategy'],
  [86, 'VectorToolSearchStrategy'],
  [87, 'MessageWindowChatMemory'],
  [88, 'TokenWindowChatMemory'],
  [89, 'ChatMemory'],
  [90, 'TokenStream'],
  [92, 'StreamingChatResponseHandler'],
  [93, 'OpenAiStreamingResponseBuilder'],
  [94, 'AiServiceListener'],
  [95, 'OutputGuardrail'],
  [96, 'McpToolExecutor'],
  [97, 'McpToolProvider'],
  [98, 'McpToolExecutor, ToolExecutionResult.attributes'],
  [99, 'ToolSpecificationHelper'],
  [100, 'McpResourcesAsToolsPresenter'],
  [101, 'Skills'],
  [102, 'maxToolCallingRoundTrips'],
  [104, 'ToolExecutionRequest.id'],
  [105, 'ToolExecutionRequestUtil'],
  [107, 'DefaultToolExecutor'],
  [109, '@Tool, results'],
  [110, 'ChatMemory'],
  [111, 'TokenStream'],
  [112, 'MessageWindowChatMemory'],
  [113, 'compensateOnToolErrors'],
  [115, 'ReturnBehavior.IMMEDIATE'],
  [116, 'hallucinatedToolNameStrategy'],
  [117, 'ChatRequestParameters'],
  [118, 'ToolProvider'],
  [119, 'toolSearchStrategy'],
  [120, 'toolExecutionErrorHandler'],
  [121, 'PartialToolCall'],
  [122, 'decision models'],
  [123, 'DecisionModel, ChoiceQuestion'],
]

// A tool Worker logs what its tools throw, and here they throw on purpose.
vi.spyOn(console, 'error').mockImplementation(() => {})

conformance('LangChain4j', 123, SUBJECTS, [
  ...values,
  ...calls,
  ...texts,
  ...defaults,
  ...definitions,
  ...described,
  ...loop,
  ...results,
  ...kinds,
  ...direct,
  ...faults,
  ...offer,
  ...ROWS,
  ...undo,
  ...searches,
  ...memories,
  ...stream,
  ...watch,
  ...mcp,
  ...skills,
  ...unpinnedCalls,
  ...unpinnedRuns,
  ...unpinnedOffers,
])
