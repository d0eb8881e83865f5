import type { Files } from './files.ts'
import type { Names } from './names.ts'

/** The compatibility date of new Workers. */
export const COMPATIBILITY_DATE = '2026-10-23'

/** The configuration of a Worker that only service bindings reach. */
export function privateWorker(name: string, comment: string): string {
  return `# ${comment}
name = "${name}"
main = "index.ts"
compatibility_date = "${COMPATIBILITY_DATE}"
# Private: reachable through service bindings only.
workers_dev = false
preview_urls = false

# Runs show which deployed version of this Worker answered.
[version_metadata]
binding = "CF_VERSION_METADATA"

[observability]
enabled = true
`
}

/** The files of a tool Worker with one tool, and its test. */
export function toolFiles({ kebab, camel }: Names, service: string): Files {
  const folder = `tools/${kebab}`
  return {
    [`${folder}/index.ts`]: `import { defineTool, serveTools } from 'edgecall/tool'
import * as v from 'valibot'

const ${camel} = defineTool({
  name: '${camel}',
  // Models choose a tool by its description: say what it does, when to use it, and what it answers.
  description: 'Greets a person by name. Use it when somebody wants to be greeted. Answers with the greeting.',
  input: v.object({ name: v.pipe(v.string(), v.description('Name of the person, such as Ada')) }),
  // Without effects, so that a call may be repeated after a crash.
  annotations: { readOnly: true },
  run: ({ name }) => \`Hello, \${name}!\`,
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

test('greets a person', async () => {
  const outcome = await tool.call('${camel}', { name: 'Ada' })
  assert.deepEqual(outcome, { ok: true, content: [{ type: 'text', text: 'Hello, Ada!' }] })
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
