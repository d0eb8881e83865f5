import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import type { DefinedTool } from 'edgecall/tool'
import type { ToolOutcome } from '../../src/contract/tool.ts'
import { CONTEXT } from '../fixtures/run-context.ts'
import { pages, ROOT } from './pages.ts'

const FOLDER = `${ROOT}test/docs/.migrating-${process.pid}`
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

/** A block of our own code, with a call of a tool that it exports, as the comment before it says. */
const CALL = /^<!-- call: (?<tool>\w+) (?<input>.*) gives (?<result>.*) -->\n\n```ts\n(?<code>[^]*?)^```$/gm
const texts = pages()
  .filter(({ path }) => path.startsWith('docs/migrating'))
  .map(({ text }) => text)
const calls = texts.flatMap((text) => [...text.matchAll(CALL)].map(({ groups = {} }) => groups))

test('each library has a tool of this repository beside it', () => {
  const sections = texts.flatMap((text) => text.match(/^## .*$/gm) ?? [])
  expect(sections).toHaveLength(5)
  expect(calls).toHaveLength(5)
})

/** What a person of either library looks up: the words of its documentation for tools. */
const SPRING_AI =
  '@Tool @ToolParam @JsonPropertyDescription @JsonClassDescription @Schema FunctionToolCallback MethodToolCallback ' +
  'MethodToolCallbackProvider ToolCallbacks.from ToolCallback ToolDefinition ToolMetadata returnDirect ToolCallResultConverter ' +
  'AugmentedToolCallbackProvider ToolCallbackProvider toolCallbacks toolNames ToolCallingChatOptions ToolCallbackResolver ' +
  'StaticToolCallbackResolver DelegatingToolCallbackResolver SpringBeanToolCallbackResolver toolChoice parallelToolCalls ' +
  'ToolContext ToolContext.TOOL_CALL_HISTORY ToolCallingManager DefaultToolCallingManager internalToolExecutionEnabled ' +
  'ToolExecutionEligibilityChecker ToolExecutionEligibilityPredicate ToolExecutionResult ToolExecutionException ' +
  'ToolExecutionExceptionProcessor spring.ai.tools.throw-exception-on-error ToolCallLimits maxCallsPerTool ' +
  'excludeToolFromLimit ToolCallLimitBehavior ToolCallLimitExceededException ToolCallingAdvisor ToolCallAdvisor CallAdvisor ' +
  'BaseAdvisor ToolSearchToolCallingAdvisor StructuredOutputValidationAdvisor MessageChatMemoryAdvisor ChatMemory ' +
  'MessageWindowChatMemory streamToolCallResponses SyncMcpToolCallbackProvider @McpTool McpToolNamePrefixGenerator ' +
  'McpToolFilter'
const LANGCHAIN4J =
  '@Tool @P ToolSpecification ToolSpecifications AiServiceTool ToolExecutor @Description ReturnBehavior.IMMEDIATE ' +
  'IMMEDIATE_IF_LAST AiServices @MemoryId @ToolMemoryId InvocationParameters InvocationContext ToolExecutionRequest ' +
  'ToolExecutionResultMessage ToolExecution toolProvider ToolProviderRequest executeToolsConcurrently ' +
  'maxToolCallingRoundTrips maxSequentialToolsInvocations ToolChoice beforeToolExecution afterToolExecution ' +
  'MessageWindowChatMemory TokenWindowChatMemory chatMemoryProvider hallucinatedToolNameStrategy ' +
  'toolArgumentsErrorHandler toolExecutionErrorHandler compensateOnToolErrors toolSearchStrategy PartialToolCall ' +
  'CompleteToolCall McpToolProvider filterToolNames'

/** Returns the cells of the table that begins with a heading, without its head. */
function rowsOf(heading: string): [theirs: string, ours: string][] {
  const lines = texts.flatMap((text) => text.split('\n'))
  const from = lines.findIndex((line) => line.startsWith(`| ${heading} `))
  const rows = lines.slice(from + 2, lines.indexOf('', from))
  return rows.map((row) => [row.split('|')[1] ?? '', row.split('|')[2] ?? ''])
}

test.each([
  ['Spring AI', SPRING_AI],
  ['LangChain4j', LANGCHAIN4J],
])('every name of %s has ours beside it', (heading, names) => {
  const codes = rowsOf(heading)
    .filter(([, ours]) => ours.trim() !== '')
    .flatMap(([theirs]) => [...theirs.matchAll(/`([^` ]+)/g)].map(([, code]) => code))
  expect(names.split(' ').filter((name) => !codes.includes(name))).toEqual([])
})

test('our names beside theirs are words of the product', () => {
  const sources = globSync('{src,tools}/**/*.ts', { cwd: ROOT }).map((file) => readFileSync(ROOT + file, 'utf8'))
  const words = new Set(sources.join('\n').match(/[\w./-]*\w/g))
  const ours = ['Spring AI', 'LangChain4j'].flatMap((heading) => rowsOf(heading).map(([, cell]) => cell))
  const codes = ours.flatMap((cell) => [...cell.matchAll(/`([A-Za-z][\w.-]+)`/g)].map(([, code = '']) => code))
  // Those of the libraries that the tools of an author use.
  const foreign = ['v.description', 'v.optional', 'edgecall/loop', 'edgecall/test', 'edgecall/tool']
  expect(codes.filter((code) => !words.has(code) && !foreign.includes(code))).toEqual([])
  expect(codes.length).toBeGreaterThan(60)
})

test.each(calls)('the tool $tool, called with $input, gives $result', async (call) => {
  const { tool = '', input = '', result = '', code = '' } = call
  mkdirSync(FOLDER, { recursive: true })
  const file = `${FOLDER}/${tool}.ts`
  writeFileSync(file, code)
  const module: Record<string, DefinedTool> = await import(file)
  const outcome = await module[tool]?.call(JSON.parse(input), CONTEXT)
  expect(outcome).toMatchObject({ ok: true })
  expect(valueOf(outcome)).toEqual(JSON.parse(result))
})

function valueOf(outcome: ToolOutcome | undefined): unknown {
  if (!outcome?.ok) return undefined
  const [part] = outcome.content
  return (
    outcome.structured ??
    (part?.type === 'text' && /^[\d{]/.test(part.text) ? JSON.parse(part.text) : part?.type === 'text' && part.text)
  )
}
