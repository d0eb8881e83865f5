import type { Files } from './files.ts'
import type { Names } from './names.ts'
import { privateWorker } from './tool-files.ts'

/** The files of a Worker with one agent, and its test. */
export function agentFiles({ kebab, camel, words }: Names, service: string): Files {
  const folder = `tools/${kebab}`
  return {
    [`${folder}/index.ts`]: `import { allProviders, type Env, makeSetup } from 'edgecall'
import { serveAgents } from 'edgecall/agent'
import { ${camel} } from './agent.ts'

export default serveAgents((env: Env) => makeSetup(env, { providers: allProviders }), [${camel}])
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
