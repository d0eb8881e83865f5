import { AT_EDGE, type Command, command } from './command/command.ts'

/** A command of `new`, which adds files to a project. */
function newCommand(kind: 'tool' | 'http-tool' | 'agent', summary: string): Command {
  return command({
    name: `new ${kind}`,
    summary,
    arguments: { name: { text: 'its name, such as roll-dice' } },
    options: {},
    node: 20,
    run: async ({ root, terminal, arguments: { name } }) => {
      const { addHttpTool, addWorker } = await import('./project/add.ts')
      const added = kind === 'http-tool' ? addHttpTool(root, name) : addWorker(root, kind, name)
      for (const file of added.files) terminal.print(`${file}\n`)
      if (added.bound)
        terminal.print(`${added.bound.config}: ${added.bound.binding} is bound to ${added.bound.service}\n`)
      terminal.emit(added)
    },
  })
}

/** A command of `runs`, which changes one run of a conversation. */
function runsCommand(action: 'retry' | 'cancel', summary: string): Command {
  return command({
    name: `runs ${action}`,
    summary,
    arguments: { conversation: { text: 'the id of the conversation' }, run: { text: 'the id of the run' } },
    options: AT_EDGE,
    run: async ({ env, arguments: { conversation, run }, options: { url } }) => {
      const { changeRun } = await import('./runs.ts')
      await changeRun({ env, url, action, conversation, run })
    },
  })
}

/** The commands of `edgecall`, in the order in which the help lists them. */
export const COMMANDS: readonly Command[] = [
  command({
    name: 'init',
    summary: 'make a project: an edge, one tool Worker and its test',
    arguments: { folder: { text: 'a folder that is new or empty; its name becomes that of the edge' } },
    options: {
      package: { type: 'string', value: 'spec', text: 'what it depends on as edgecall; default: this version' },
    },
    node: 20,
    run: async ({ root, terminal, arguments: { folder }, options }) => {
      const { init } = await import('./project/init.ts')
      const made = init({ root, folder, edgecall: options.package })
      terminal.print(`${made.files.length} files in ${made.folder}. Next:

  cd ${made.folder}
  npm install
  npm test
  npm start
`)
      terminal.emit(made)
    },
  }),
  newCommand('tool', 'add a tool Worker, with a test, and bind it to the edge'),
  newCommand('http-tool', 'add a stored tool that sends an HTTP request, with a test'),
  newCommand('agent', 'add a Worker of agents, with a test, and bind it to the edge'),
  command({
    name: 'dev',
    summary: 'run the edge and every tool Worker on this machine until Ctrl-C',
    arguments: {},
    options: {
      ask: { type: 'string', value: 'question', text: 'start, ask this question, print the run and end' },
    },
    notes: [
      'PORT is the port of the edge, 8787 by default; STATE_DIR is where its data is, .wrangler/state by default.',
    ],
    run: async ({ root, env, signal, options }) => {
      const { dev } = await import('./dev/dev.ts')
      await dev({ root, env, signal, ask: options.ask })
    },
  }),
  command({
    name: 'deploy',
    summary: 'deploy every tool Worker, then the edge, then the stored definitions',
    arguments: {},
    options: {
      'dry-run': { type: 'boolean', text: 'build all Workers and print their sizes; deploy nothing' },
    },
    run: async ({ root, env, options }) => {
      const { deploy } = await import('./deploy.ts')
      await deploy({ root, env, dryRun: options['dry-run'] })
    },
  }),
  command({
    name: 'import openapi',
    summary: 'make a stored definition of each operation of an OpenAPI 3 document',
    arguments: { file: { text: 'the document, in JSON' } },
    options: {
      host: { type: 'string', text: 'the host of the API; default: the server that the document names' },
      secret: { type: 'string', value: 'SECRET_NAME', text: 'the secret that calls send as the document asks' },
      out: { type: 'string', value: 'folder', text: 'where the files are written; default tools/definitions' },
      put: { type: 'boolean', text: 'store them at the edge at EDGECALL_URL instead of writing files' },
    },
    run: async ({ root, env, arguments: { file }, options }) => {
      const { importOpenApi } = await import('./import.ts')
      await importOpenApi({ root, env, file, ...options })
    },
  }),
  command({
    name: 'types',
    summary: 'write the names of an edge’s tools as a type, for createClient<ToolName>',
    arguments: {},
    options: { ...AT_EDGE, out: { type: 'string', value: 'file', text: 'where to write it; default: stdout' } },
    run: async ({ root, env, options: { url, out } }) => {
      const { writeTypes } = await import('./types.ts')
      await writeTypes({ root, env, ...(url !== undefined && { url }), out })
    },
  }),
  runsCommand('retry', 'have a parked run resumed'),
  runsCommand('cancel', 'cancel a run that has not ended'),
]
