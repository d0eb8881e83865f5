import { AT_EDGE, type Command, command } from '../command/command.ts'

export const CONNECT_COMMAND: Command = command({
  name: 'connect',
  summary: 'print what an application needs for an edge, such as Claude Code or Codex, and set it in its files',
  arguments: { application: { text: 'its name; default: all are listed', optional: true } },
  options: {
    ...AT_EDGE,
    model: { type: 'string', value: 'provider/name', text: 'the model that it asks for; default: that of the edge' },
    tools: { type: 'boolean', text: 'give it the tools of the edge by MCP instead, beside a model of its own' },
    write: { type: 'boolean', text: 'put it into the files of the application, and print what has changed' },
  },
  notes: [
    'What is written names the variable EDGECALL_KEY, which the shell of the application must have: never a key.',
  ],
  node: 20,
  run: async ({ root, env, terminal, signal, arguments: { application }, options: { url, ...options } }) => {
    const { connect } = await import('./connect.ts')
    const { addressOf } = await import('../remote/address.ts')
    const edge = () => addressOf({ root, env, url })
    await connect({ root, env, terminal, signal, edge, name: application, ...options })
  },
})
