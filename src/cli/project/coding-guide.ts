import type { Files } from './files.ts'

/** What a coding agent must know to work on a project, in the order of the tasks. */
const GUIDE = `## Add a tool

1. \`npx edgecall new tool orders\` writes \`tools/orders/\` with \`index.ts\`, a test and a \`wrangler.toml\`, and binds the Worker to the edge.
2. Replace the sample in \`tools/orders/index.ts\`. One Worker may serve several tools: \`serveTools(orderStatus, placeOrder)\`.
3. \`npx edgecall doctor\` says what is missing, and which descriptions say too little.

\`\`\`ts
// tools/orders/index.ts
import { defineTool, type RunContext, serveTools, ToolError } from 'edgecall/tool'
import * as v from 'valibot'

interface Env {
  readonly DB: D1Database
}

const TABLE = 'CREATE TABLE IF NOT EXISTS orders (tenant TEXT, key TEXT, product TEXT, PRIMARY KEY (tenant, key))'

const placeOrder = defineTool({
  name: 'placeOrder',
  description: 'Places an order. Use it when someone wants to buy a product. Returns the number of the order.',
  input: v.object({ product: v.pipe(v.string(), v.minLength(1), v.description('Name of the product, such as tea')) }),
  annotations: { idempotent: true },
  run: async ({ product }, { env, caller, idempotencyKey }: RunContext<Env>) => {
    if (product === 'gold') throw new ToolError('We do not sell gold. Ask for another product.')
    const insert = env.DB.prepare('INSERT OR IGNORE INTO orders VALUES (?, ?, ?)')
    const select = env.DB.prepare('SELECT rowid AS number FROM orders WHERE tenant = ? AND key = ?')
    const [, , found] = await env.DB.batch<{ number: number }>([
      env.DB.prepare(TABLE),
      insert.bind(caller.tenant, idempotencyKey, product),
      select.bind(caller.tenant, idempotencyKey),
    ])
    return { number: found?.results[0]?.number }
  },
})

export default serveTools(placeOrder)
\`\`\`

- **Description**: what the tool does, when to use it, and what it returns. A model has nothing else to choose by.
- **Types** of the arguments of \`run\` come from \`input\`. Do not declare them again.
- **Errors**: throw a \`ToolError\` for what the model can correct. Any other error is logged for operators, and the model learns only that the
  call failed.
- **Identity**: take the tenant from \`caller\`, never from an argument.
- **Annotations**: \`readOnly: true\` if nothing changes; \`idempotent: true\` only if a second call with the same \`idempotencyKey\` changes nothing
  more. Without either, a call whose outcome is lost is not repeated.
- **A database** is a binding of the tool’s own Worker. Without an id, it is made at the first deployment. Append it to
  \`tools/orders/wrangler.toml\`:

\`\`\`toml
[[d1_databases]]
binding = "DB"
database_name = "orders"
\`\`\`

- **A secret** is a line of \`tools/orders/.dev.vars\` on this machine, and is set with
  \`npx wrangler secret put NAME -c tools/orders/wrangler.toml\` for the deployed Worker. \`run\` reads it from \`env\`.

## Test it

\`npm test\` checks the types and runs all tests. This runs one:

\`\`\`sh
npx node --test tools/orders/orders.test.ts
\`\`\`

\`\`\`ts
// tools/orders/orders.test.ts
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningTool, startTool } from 'edgecall/test'

let tool: RunningTool

before(async () => {
  tool = await startTool(import.meta.dirname)
})
after(() => tool.close())

test('an order gets a number', async () => {
  const outcome = await tool.call('placeOrder', { product: 'tea' }, { caller: { tenant: 'acme', scopes: [] } })
  assert.deepEqual(outcome.ok && outcome.structured, { number: 1 })
})

test('keeps the contract of tool Workers, also when a call is repeated', async () => {
  assert.deepEqual(await tool.conformance({ placeOrder: { arguments: { product: 'tea' } } }), [])
})
\`\`\`

To try it by hand, keep \`npm start\` running in another terminal. It follows your changes:

\`\`\`sh
npx edgecall call placeOrder --args '{ "product": "tea" }'
npx edgecall ask "Order tea for me"
\`\`\`

## Set a policy

Rules of the operator stand in the \`wrangler.toml\` of the edge, and hold whatever a tool says of itself:

\`\`\`toml
[vars]
TOOL_POLICY = '{ "placeOrder": { "scopes": ["orders"], "rate": "RATE_ORDERS" } }'

[[ratelimits]]
name = "RATE_ORDERS"
namespace_id = "1001"
simple = { limit = 10, period = 60 }
\`\`\`

- A pattern may be a name (\`*\` stands for any text), a tag (\`#finance\`) or a binding (\`@TOOL_ORDERS\`). The lowest limit, every scope and the strictest
  approval hold.
- A person must approve each call with \`"approval": "always"\`, here or in the definition. In a definition,
  \`approval: { unless: { '/amount': { maximum: 20 } } }\` lets small amounts pass. Approval needs a conversation.

## Deploy

\`\`\`sh
npm test
npx edgecall deploy --dry-run
npx edgecall deploy
\`\`\`

- Only Workers that have changed are deployed, the edge last.
- A change that callers may not survive is refused, such as a new required argument or a removed tool. Make it compatible: give the argument a
  default with \`v.optional\`, or add a tool of another name. If a person has agreed to the break, name the tool:
  \`npx edgecall deploy --allow-break placeOrder\`.
- \`npx edgecall deploy --continue\` finishes a deployment that stopped half-way. \`npx edgecall rollback\` goes back to the last one that was
  different.
- Without keys, a deployed edge answers nobody: \`npx edgecall keys new app --tenant acme --scope chat --remote\` makes one.
- Never commit \`.dev.vars\` or a key.
`

const FRONT_MATTER = `---
name: edgecall
description: Adds, tests, restricts and deploys tools of an Edgecall project, which runs LLM tool calling on Cloudflare Workers. Use it when package.json has the dependency edgecall and somebody asks for a tool for a model, a test of one, a policy, an approval, or a deployment.
license: MIT
---
`

/** Returns docs/skills/edgecall/SKILL.md, in the format of agent skills. */
export function skillText(): string {
  return `${FRONT_MATTER}
# Work on an Edgecall project

${READING}

${GUIDE}`
}

/** What is different in a project whose tools are in the Worker of the edge. */
export const SINGLE_WORKER = `This project is one Worker: \`src/index.ts\` exports the tools instead of binding them. So what a tool needs (databases, secrets, variables) stands
in the \`wrangler.toml\` and \`.dev.vars\` of the edge too; tests read those of the tool. Secrets are set without \`-c\`.

`

/** Returns `AGENTS.md` of a new project, which coding agents read. `note`: what is different in it. */
export function codingGuide(name: string, note = ''): Files {
  return {
    'AGENTS.md': `# For coding agents

${name} is an Edgecall edge: it runs the calls of language models to the tools in \`tools/\`, on Cloudflare Workers. ${READING}

${note}${GUIDE}`,
  }
}

const READING =
  'All pages of the documentation are in `node_modules/edgecall/docs`; `README.md` there lists them. Guess no option: look it up.'
