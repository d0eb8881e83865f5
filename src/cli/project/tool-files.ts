import type { Files } from './files.ts'
import type { Names } from './names.ts'

/** The compatibility date of new Workers. */
export const COMPATIBILITY_DATE = '2026-10-23'

/** The configuration of a Worker that only service bindings reach. `flags` are its compatibility flags. */
export function privateWorker(name: string, comment: string, flags: readonly string[] = []): string {
  const list = flags.map((flag) => `"${flag}"`).join(', ')
  return `# ${comment}
name = "${name}"
main = "index.ts"
compatibility_date = "${COMPATIBILITY_DATE}"
${flags.length > 0 ? `compatibility_flags = [${list}]\n` : ''}# Private: reachable through service bindings only.
workers_dev = false
preview_urls = false

# Runs show which deployed version of this Worker answered.
[version_metadata]
binding = "CF_VERSION_METADATA"

[observability]
enabled = true
`
}

/** What a tool of the templates does. The texts are put between single quotes. */
interface Example {
  readonly description: string
  readonly parameter: string
  readonly parameterText: string
  /** The code of the result, and what it gives for the argument `value`. */
  readonly code: string
  readonly value: string
  readonly result: string
  readonly testName: string
}

/** What the tool of a new project does. */
const GREETING: Example = {
  description: 'Greets a person by name. Use it when somebody wants to be greeted. Answers with the greeting.',
  parameter: 'name',
  parameterText: 'Name of the person, such as Ada',
  code: '`Hello, ${name}!`',
  value: 'Ada',
  result: 'Hello, Ada!',
  testName: 'greets a person',
}

/** What a tool of any name does until somebody has written it. */
function placeholder({ words, camel }: Names): Example {
  return {
    description: `Repeats a request for ${words}, until it is written. Use it when somebody asks for ${words}.`,
    parameter: 'request',
    parameterText: 'What is asked for, in words',
    code: `\`${camel} was asked for: \${request}\``,
    value: 'an example',
    result: `${camel} was asked for: an example`,
    testName: 'repeats the request',
  }
}

/** The files of the tool Worker of a new project, and its test. */
export function greetingFiles(names: Names, service: string): Files {
  return workerFiles(names, service, GREETING)
}

/** The files of a tool Worker with one tool, which is to be written, and its test. */
export function toolFiles(names: Names, service: string): Files {
  return workerFiles(names, service, placeholder(names))
}

function workerFiles({ kebab, camel }: Names, service: string, example: Example): Files {
  const folder = `tools/${kebab}`
  const { description, parameter, parameterText, code, value, result, testName } = example
  return {
    [`${folder}/index.ts`]: `import { defineTool, serveTools } from 'edgecall/tool'
import * as v from 'valibot'

const ${camel} = defineTool({
  name: '${camel}',
  // Models choose a tool by its description: say what it does, when to use it, and what it answers.
  description: '${description}',
  input: v.object({ ${parameter}: v.pipe(v.string(), v.description('${parameterText}')) }),
  // Without effects, so that a call may be repeated after a crash.
  annotations: { readOnly: true },
  run: ({ ${parameter} }) => ${code},
})

export default serveTools(${camel})
`,
    [`${folder}/${kebab}.test.ts`]: `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTool, type RunningTool } from 'edgecall/test'

let tool: RunningTool

before(async () => {
  tool = await startTool(import.meta.dirname)
})
after(() => tool.close())

test('${testName}', async () => {
  const outcome = await tool.call('${camel}', { ${parameter}: '${value}' })
  assert.deepEqual(outcome, { ok: true, content: [{ type: 'text', text: '${result}' }] })
})

test('keeps the contract of tool Workers', async () => {
  assert.deepEqual(await tool.conformance(), [])
})
`,
    [`${folder}/wrangler.toml`]: `${privateWorker(service, 'A tool Worker: the edge finds its tools by the service binding in its wrangler.toml.')}
# Secrets of this tool alone: \`npx wrangler secret put NAME -c ${folder}/wrangler.toml\`; on your machine, in a file
# \`.dev.vars\` beside this one. Both are members of \`context.env\`, the second argument of \`run\`.
# [[d1_databases]] and [[kv_namespaces]] here are this Worker's own; on your machine they are in .wrangler/state.
`,
  }
}
