import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { bindService, type ServiceBinding } from './bind.ts'
import { findConfig, readConfigFile } from './config-file.ts'
import { exportedTools, exportTool } from './exported-tools.ts'
import { type Files, writeFiles } from './files.ts'
import { type Names, namesOf } from './names.ts'
import { privateWorker, toolFiles } from './tool-files.ts'

/** What was added to a project. */
export interface Added {
  readonly files: readonly string[]
  /** The configuration that was changed, and the binding that it has now. */
  readonly bound?: ServiceBinding & { readonly config: string }
  /** What keeps it from being available yet. Default: nothing. */
  readonly note?: string
  /** The module that was changed, and the name under which it exports the tool Worker now. */
  readonly exported?: { readonly name: string; readonly module: string }
}

/**
 * Adds a tool Worker, or a Worker of agents, and binds it to the edge. An edge that exports tool Workers from its own
 * module exports the new one too.
 */
export function addWorker(root: string, kind: 'tool' | 'agent', text: string): Added {
  const { config, edge } = readEdge(root)
  const names = namesOf(text)
  const service = `${edge}-${names.kebab}`
  const files = (kind === 'tool' ? toolFiles : agentFiles)(names, service)
  if (existsSync(join(root, 'tools', names.kebab))) {
    throw new Failure(`There is already tools/${names.kebab}.`, 'Choose another name.')
  }
  const { main } = readConfigFile(root, config)
  if (kind === 'tool' && typeof main === 'string' && exportedTools(root, main).length > 0) {
    exportTool(root, main, { name: names.binding, module: `tools/${names.kebab}/index.ts` })
    writeFiles(root, files)
    return { files: Object.keys(files), exported: { name: names.binding, module: main } }
  }
  const binding = { binding: names.binding, service }
  bindService(root, config, binding)
  writeFiles(root, files)
  const added = { files: Object.keys(files), bound: { ...binding, config } }
  if (kind === 'tool') return added
  const folder = `tools/${names.kebab}`
  return {
    ...added,
    note: `The edge lists it as not available until it has a model of its own: on your machine, put MODEL and the model's key into ${folder}/.dev.vars; to deploy it, see ${folder}/wrangler.toml.`,
  }
}

/** Adds a stored tool that sends an HTTP request. It needs no binding: `dev` and `deploy` store it. */
export function addHttpTool(root: string, text: string): Added {
  readEdge(root)
  if (!findConfig(root, 'tools/definitions')) {
    throw new Failure(
      'There is no Worker in tools/definitions, which performs stored tools.',
      'An edge with stored tools has it, and the bindings DEFINITIONS, TOOLS and CATALOG: see a project of edgecall init.',
    )
  }
  const files = httpToolFiles(namesOf(text))
  writeFiles(root, files)
  return { files: Object.keys(files) }
}

/** Reads the name of the edge. Throws a Failure if this is not the folder of one. */
export function readEdge(root: string): { readonly config: string; readonly edge: string } {
  const config = findConfig(root, '')
  if (config === undefined) {
    throw new Failure(
      `There is no wrangler.toml in ${root}.`,
      'Run this in the folder of your edge, or make one: edgecall init <folder>',
    )
  }
  const { name } = readConfigFile(root, config)
  if (typeof name !== 'string') throw new Failure(`${config} has no \`name\`.`)
  return { config, edge: name }
}

/** The files of a stored tool that sends an HTTP request, and its test. */
export function httpToolFiles({ kebab, camel }: Names): Files {
  const definition = {
    name: camel,
    description:
      'Tells the reference exchange rate between two currencies. Use it to convert money. Answers how much one unit of the base currency is worth in the other one.',
    inputSchema: {
      type: 'object',
      properties: {
        base: { type: 'string', description: 'Currency to convert from, as its ISO 4217 code, such as USD' },
        quote: { type: 'string', description: 'Currency to convert to, as its ISO 4217 code, such as EUR' },
      },
      required: ['base', 'quote'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, openWorld: true },
    timeoutMs: 10_000,
    http: {
      method: 'GET',
      url: 'https://api.frankfurter.dev/v1/latest',
      query: { base: '{base}', symbols: '{quote}' },
      result: '/rates',
    },
  }
  return {
    [`tools/definitions/${kebab}.json`]: `${JSON.stringify(definition, null, 2)}\n`,
    [`tools/definitions/${kebab}.test.ts`]: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionIssues } from 'edgecall/test'

test('${camel} is a definition that an edge accepts', () => {
  assert.deepEqual(definitionIssues(\`\${import.meta.dirname}/${kebab}.json\`), [])
})
`,
  }
}

/** The files of a Worker with one agent, and its test. */
export function agentFiles({ kebab, camel, words }: Names, service: string): Files {
  const folder = `tools/${kebab}`
  return {
    [`${folder}/index.ts`]: `import { allProviders, contextPlanning, type Env, makeSetup } from 'edgecall'
import { serveAgents } from 'edgecall/agent'
import { ${camel} } from './agent.ts'

export default serveAgents(
  (env: Env) => makeSetup(env, { providers: allProviders, use: [contextPlanning] }),
  [${camel}],
)
`,
    [`${folder}/agent.ts`]: `import type { AgentOptions } from 'edgecall/agent'

export const ${camel} = {
  name: '${camel}',
  // The model that calls an agent chooses it by this description, as it chooses a tool.
  description: 'A ${words}: takes a task in words. Use it for what a ${words} does. Answers with the result alone.',
  // What the agent itself is told: what to do, what to keep, and how to answer.
  instructions: 'You are a ${words}. Do the task that you are given, and answer with its result alone.',
  annotations: { readOnly: true, idempotent: true, openWorld: false },
} as const satisfies AgentOptions
`,
    [`${folder}/${kebab}.test.ts`]: `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTool, type RunningTool } from 'edgecall/test'

let agent: RunningTool

before(async () => {
  agent = await startTool(import.meta.dirname, { vars: { MODEL: 'openai/test', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' } })
})
after(() => agent.close())

test('is on offer as a tool', () => {
  assert.deepEqual(agent.definitions.map(({ name }) => name), ['${camel}'])
})
`,
    [`${folder}/wrangler.toml`]: `${privateWorker(service, 'A Worker of agents: models with instructions and tools of their own, which models call as tools.', ['global_fetch_strictly_public'])}
# The agent's own model. Set its key with \`npx wrangler secret put OPENAI_API_KEY -c ${folder}/wrangler.toml\`; on your
# machine, put both into a file \`.dev.vars\` beside this one. Without a model the edge lists the agent as unavailable.
[vars]
# MODEL = "openai/gpt-4.1-mini"
`,
  }
}
