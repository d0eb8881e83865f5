import { commonFiles, type EdgeConfig, edgeConfig, type EdgeFilesOptions } from './edge-files.ts'
import type { Files } from './files.ts'

/** The files of a project in one Worker, whose edge exports the tool Worker `tools/greeting`. */
export function singleFiles(options: EdgeFilesOptions): Files {
  const { name } = options
  return {
    ...commonFiles(options),
    'wrangler.toml': edgeConfig({ name, ...CONFIG }),
    'src/index.ts': EDGE,
    'README.md': readme(name),
  }
}

const EDGE = `/** The edge: hosts the tool-calling loop. Name less than everything, and the bundle has less in it. */
import { createEdge } from 'edgecall'
import { everything } from 'edgecall/everything'

// The tools: each is a tool Worker of its own, in this Worker's bundle. To deploy one on its own, bind it instead.
export { default as TOOL_GREETING } from '../tools/greeting/index.ts'

// Stored tools need a Worker of their own, so this edge has none.
const use = everything.use.filter(({ name }) => !['storedTools', 'mcpConnections'].includes(name))
const edge = createEdge({ ...everything, use })

export const { Conversation, Directory } = edge
export default edge
`

const CONFIG: Omit<EdgeConfig, 'name'> = {
  note: 'The edge, with its tools in the same Worker: src/index.ts exports them under names that begin with TOOL_.',
  secrets: 'OPENAI_API_KEY, API_KEYS, and those of the tools',
  classes: { CONVERSATIONS: 'Conversation', DIRECTORIES: 'Directory' },
}

function readme(name: string): string {
  return `# ${name}

An [Edgecall](https://www.npmjs.com/package/edgecall) edge with its tools in one Worker.

[![Deploy to Cloudflare](https://deploy.workers.cloudflare.com/button)](https://deploy.workers.cloudflare.com/?url=https://github.com/OWNER/${name})

Put the address of your repository into the button. It deploys the Worker to the account of the person who presses it; set \`API_KEYS\`, \`MODEL\`
and the key of the model there.

\`\`\`sh
npm install
npm start                             # the edge with its tools on this machine, with an offline model
npm test                              # types, and the tests of the tools on workerd
npx edgecall new tool roll-dice       # one more tool, with its test and its export in src/index.ts
npx edgecall ask "…"                  # ask the edge that npm start runs
npx edgecall help                     # all commands
\`\`\`

| file | what it is |
| --- | --- |
| \`src/index.ts\` | the edge, and the exports of its tools |
| \`wrangler.toml\` | its bindings; those of the tools too |
| \`tools/<name>/\` | one tool Worker each, with its test; its wrangler.toml is for the test, and to deploy it on its own |
| \`.dev.vars\` | variables and secrets on your machine; see \`.dev.vars.example\` |
`
}
