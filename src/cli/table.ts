import { BACKUP_COMMANDS } from './backup-commands.ts'
import { AT_EDGE, type Command, command } from './command/command.ts'
import { remote } from './command/remote.ts'
import { CONNECT_COMMAND } from './connect/command.ts'
import { COST_COMMAND } from './cost/command.ts'
import { Failure } from './failure.ts'
import { RUN_COMMANDS } from './run-commands.ts'
import { SCHEDULE_COMMANDS } from './schedules.ts'
import { TRIGGER_TRY_COMMAND } from './triggers.ts'
import { type WorkersPlan, PLANS } from '../contract/platform.ts'

/** A command that has a stored key let somebody in, or nobody. */
function switchCommand(verb: 'disable' | 'enable', summary: string): Command {
  return command({
    name: `keys ${verb}`,
    summary,
    arguments: { id: { text: 'the id of the key' } },
    options: AT_EDGE,
    run: async (invocation) => {
      const { switchStoredKey } = await import('./remote/stored-keys.ts')
      const key = { ...invocation.arguments, disabled: verb === 'disable' }
      await switchStoredKey(key, await remote(invocation, invocation.options.url))
    },
  })
}

/** The commands about API keys: those in `api-keys.json`, and those that an edge stores. */
const KEY_COMMANDS: readonly Command[] = [
  command({
    name: 'keys new',
    summary: 'make an API key, print it once, and add its hash to api-keys.json',
    arguments: { id: { text: 'names the key in records, and for keys revoke' } },
    options: {
      ...AT_EDGE,
      tenant: { type: 'string', text: 'the tenant of the key; default: default' },
      scope: { type: 'string', multiple: true, text: 'a scope that it has; default: chat and tools:read' },
      expires: { type: 'string', value: 'date', text: 'such as 2027-01-31; default: never' },
      remote: { type: 'boolean', text: 'set the list as the secret API_KEYS of the deployed edge' },
      stored: { type: 'boolean', text: 'store its hash at the edge instead, which needs a key with the scope keys' },
    },
    run: async (invocation) => {
      const { root, env, terminal, arguments: names, options } = invocation
      const { scope: scopes, stored, url, remote: isRemote, ...terms } = options
      if (stored) {
        const { checkScopes } = await import('./remote/keys.ts')
        const { newStoredKey } = await import('./remote/stored-keys.ts')
        checkScopes(root, scopes)
        return newStoredKey({ ...names, ...terms, scopes }, await remote(invocation, url))
      }
      const { newApiKey } = await import('./remote/keys.ts')
      return newApiKey({ root, env, terminal, ...names, ...terms, scopes, remote: isRemote })
    },
  }),
  command({
    name: 'keys list',
    summary: 'list the API keys that an edge stores',
    arguments: {},
    options: AT_EDGE,
    run: async (invocation) => {
      const { listStoredKeys } = await import('./remote/stored-keys.ts')
      await listStoredKeys(await remote(invocation, invocation.options.url))
    },
  }),
  command({
    name: 'keys rotate',
    summary: 'replace an API key that an edge stores by a new one, and print that once',
    arguments: { id: { text: 'the id of the key' } },
    options: { ...AT_EDGE, 'keep-old': { type: 'boolean', text: 'let the old key work until the next time' } },
    run: async (invocation) => {
      const { rotateStoredKey } = await import('./remote/stored-keys.ts')
      const { url, 'keep-old': keepOld } = invocation.options
      await rotateStoredKey({ ...invocation.arguments, keepOld }, await remote(invocation, url))
    },
  }),
  switchCommand('disable', 'disable an API key that an edge stores'),
  switchCommand('enable', 'enable an API key that an edge stores and that was disabled'),
  command({
    name: 'keys revoke',
    summary: 'disable an API key of the deployed edge at once, without a deployment',
    arguments: { id: { text: 'the id of the key' } },
    options: { local: { type: 'boolean', text: 'disable it at the edge on this machine instead' } },
    run: async ({ root, env, terminal, arguments: { id }, options: { local } }) => {
      const { revokeApiKey } = await import('./remote/keys.ts')
      await revokeApiKey(id, { root, env, terminal, local })
    },
  }),
]

const TRIGGER_COMMAND = command({
  name: 'new trigger',
  summary: 'add what starts a run without a caller: a signed request, a message of a queue, a time, or mail',
  arguments: { name: { text: 'its name, such as new-orders' } },
  options: { on: { type: 'string', value: 'event', text: 'webhook, queue, cron or email; default: webhook' } },
  node: 20,
  run: async ({ root, terminal, arguments: { name }, options: { on } }) => {
    const { addTrigger } = await import('./project/trigger-files.ts')
    const added = addTrigger(root, name, on)
    for (const line of [...added.files, added.note ?? '']) terminal.print(`${line}\n`)
    terminal.emit(added)
  },
})

function readPlan(value: string | undefined): WorkersPlan | undefined {
  const plan = PLANS.find((each) => each === value)
  if (value !== undefined && !plan) throw new Failure(`--plan must be free or paid, not "${value}".`)
  return plan
}

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
      if (added.note) terminal.print(`${added.note}\n`)
      if (added.exported) terminal.print(`${added.exported.module}: it exports ${added.exported.name}\n`)
      terminal.emit(added)
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
      single: { type: 'boolean', text: 'one Worker: the edge with its tools in its own module' },
    },
    node: 20,
    run: async ({ root, terminal, arguments: { folder }, options }) => {
      const { init, nextSteps } = await import('./project/init.ts')
      const project = init({ root, folder, edgecall: options.package, single: options.single })
      terminal.print(nextSteps(project))
      terminal.emit(project)
    },
  }),
  newCommand('tool', 'add a tool Worker, with a test, and bind it to the edge'),
  newCommand('http-tool', 'add a stored tool that sends an HTTP request, with a test'),
  newCommand('agent', 'add a Worker of agents, with a test, and bind it to the edge'),
  TRIGGER_COMMAND,
  command({
    name: 'dev',
    summary: 'run the edge and every tool Worker on this machine until Ctrl-C',
    arguments: {},
    options: {
      ask: { type: 'string', value: 'question', text: 'start, ask this question, print the run and end' },
      plan: { type: 'string', value: 'plan', text: 'hold the Workers to the limits of Cloudflare: free or paid' },
    },
    notes: [
      'PORT is the port of the edge, 8787 by default; STATE_DIR is where its data is, .wrangler/state by default.',
    ],
    run: async ({ root, env, signal, options }) => {
      const { dev } = await import('./dev/dev.ts')
      await dev({ root, env, signal, ask: options.ask, plan: readPlan(options.plan) })
    },
  }),
  command({
    name: 'deploy',
    summary: 'check and deploy every tool Worker, then the edge, then the stored definitions',
    arguments: {},
    options: {
      'dry-run': { type: 'boolean', text: 'check and build all Workers and print their sizes; change nothing' },
      env: { type: 'string', value: 'name', text: 'the environment, such as staging; default: production' },
      only: { type: 'string', value: 'worker', text: 'deploy this Worker alone, or only the `definitions`' },
      continue: { type: 'boolean', text: 'finish a deployment that has stopped half-way' },
      gradual: { type: 'string', value: 'percent', text: 'with --only: the part of the requests for the new version' },
      secrets: { type: 'string', value: 'file', text: 'secrets to set: lines NAME=value, or JSON by Worker' },
      'allow-break': { type: 'string', value: 'tool', multiple: true, text: 'break the contract of this tool' },
      'allow-stand-in': { type: 'string', value: 'worker', multiple: true, text: 'deploy this stand-in as it is' },
      'allow-shared': { type: 'string', value: 'name', multiple: true, text: 'share this with other environments' },
      adopt: { type: 'string', value: 'worker', multiple: true, text: 'overwrite this Worker of another project' },
      force: { type: 'boolean', text: 'replace what somebody else has put live, or a lost record, without asking' },
    },
    run: async ({ root, env, terminal, signal, options }) => {
      const { deploy } = await import('./deploy/deploy.ts')
      const { percentOf } = await import('./deploy/roll-out.ts')
      await deploy({
        root,
        env,
        terminal,
        signal,
        dryRun: options['dry-run'],
        environment: options.env ?? 'production',
        only: options.only,
        resume: options.continue,
        force: options.force,
        gradual: percentOf(options.gradual),
        secrets: options.secrets,
        allowBreak: options['allow-break'],
        allowStandIn: options['allow-stand-in'],
        allowShared: options['allow-shared'],
        adopt: options.adopt,
      })
    },
  }),
  command({
    name: 'rollback',
    summary: 'restore the deployment before the last one, or before one that has stopped half-way',
    arguments: {},
    options: {
      env: { type: 'string', value: 'name', text: 'the environment; default: production' },
      force: { type: 'boolean', text: 'restore it although it cannot read what was stored since' },
    },
    run: async ({ root, env, terminal, options }) => {
      const { rollback } = await import('./deploy/rollback.ts')
      await rollback({ root, env, terminal, environment: options.env ?? 'production', force: options.force })
    },
  }),
  CONNECT_COMMAND,
  command({
    name: 'ask',
    summary: 'ask an edge a question, and print the run as it happens',
    arguments: { question: { text: 'the question, in quotes' } },
    options: {
      ...AT_EDGE,
      conversation: { type: 'string', value: 'id', text: 'the conversation that it continues; default: none' },
      model: { type: 'string', value: 'provider/name', text: 'the model; default: that of the edge' },
    },
    run: async (invocation) => {
      const { askEdge } = await import('./remote/question.ts')
      const { url, ...options } = invocation.options
      await askEdge({ ...(await remote(invocation, url)), ...invocation.arguments, ...options })
    },
  }),
  command({
    name: 'call',
    summary: 'call a tool of an edge, without a model; the exit code is 1 if the call fails',
    arguments: { tool: { text: 'the name of the tool' } },
    options: { ...AT_EDGE, args: { type: 'string', value: 'json', text: 'its arguments, as a JSON object' } },
    run: async (invocation) => {
      const { callByName } = await import('./remote/tools.ts')
      const { url, args } = invocation.options
      return callByName({ ...(await remote(invocation, url)), ...invocation.arguments, args })
    },
  }),
  command({
    name: 'list',
    summary: 'list the tools of an edge, and why some are not available',
    arguments: {},
    options: AT_EDGE,
    run: async (invocation) => {
      const { printTools } = await import('./remote/tools.ts')
      await printTools(await remote(invocation, invocation.options.url))
    },
  }),
  command({
    name: 'put',
    summary: 'store a definition at an edge; no deployment is needed',
    arguments: { file: { text: 'the definition, such as tools/definitions/rates.json' } },
    options: AT_EDGE,
    run: async (invocation) => {
      const { putFile } = await import('./remote/tools.ts')
      await putFile(invocation.root, invocation.arguments.file, await remote(invocation, invocation.options.url))
    },
  }),
  command({
    name: 'remove',
    summary: 'remove a stored definition from an edge',
    arguments: { tool: { text: 'the name of the tool' } },
    options: AT_EDGE,
    run: async (invocation) => {
      const { removeTool } = await import('./remote/tools.ts')
      await removeTool(invocation.arguments.tool, await remote(invocation, invocation.options.url))
    },
  }),
  command({
    name: 'doctor',
    summary: 'say what is wrong with a project, its edge and its deployment, each with its remedy',
    arguments: {},
    options: {
      url: { ...AT_EDGE.url, text: `${AT_EDGE.url.text}, else the tools are those of the project` },
      env: { type: 'string', value: 'name', text: 'the environment whose deployment is compared; default: production' },
      plan: {
        type: 'string',
        value: 'plan',
        text: 'look at the limits of this plan too, and measure CPU: free or paid',
      },
    },
    notes: ['The exit code is 1 if there is an error, and 0 if there are only warnings. Nothing is changed.'],
    run: async ({ root, env, terminal, signal, options }) => {
      const { doctor } = await import('./doctor/doctor.ts')
      const plan = readPlan(options.plan)
      return doctor({ root, env, terminal, signal, url: options.url, environment: options.env ?? 'production', plan })
    },
  }),
  command({
    name: 'eval',
    summary: 'ask a model the questions of a file, and compare the calls it asks for with those expected',
    arguments: {
      file: { text: 'the cases, one JSON object a line: { "question", "calls": [{ "tool", "arguments" }] }' },
    },
    options: {
      ...AT_EDGE,
      model: {
        type: 'string',
        value: 'provider/name',
        multiple: true,
        text: 'a model to compare; default: the edge’s',
      },
      descriptions: { type: 'string', value: 'file', multiple: true, text: 'other descriptions to compare, by tool' },
      live: {
        type: 'boolean',
        text: 'have the edge call its tools, only those that declare readOnly if a case names none',
      },
      code: {
        type: 'string',
        value: 'off|also|only',
        multiple: true,
        text: 'with --live: a mode of programs (code mode) to compare; default: the edge’s',
      },
      before: { type: 'string', value: 'file', text: 'what --json printed before, to show it beside the new results' },
      report: {
        type: 'string',
        value: 'file',
        text: 'where to write a page in Markdown with the results side by side',
      },
      tries: { type: 'string', value: 'number', text: 'how often each question is asked; default: 1' },
      threshold: { type: 'string', value: 'share', text: 'exit with 1 if fewer tries pass, such as 0.9; default: 0' },
    },
    notes: ['Without --live no tool is called: the model reads stand-in results, which a case can give in "results".'],
    run: async (invocation) => {
      const { evaluate } = await import('./eval/evaluate.ts')
      const { url, model, ...options } = invocation.options
      const { edge, terminal, signal } = await remote(invocation, url)
      const {
        root,
        arguments: { file },
      } = invocation
      return evaluate({ root, edge, terminal, signal, file, models: model, ...options })
    },
  }),
  command({
    name: 'tail',
    summary: 'follow the runs of the deployed edge, each as a tree, until Ctrl-C',
    arguments: {},
    options: {},
    run: async (invocation) => {
      const { tail } = await import('./remote/tail.ts')
      await tail(invocation)
    },
  }),
  ...KEY_COMMANDS,
  ...SCHEDULE_COMMANDS,
  TRIGGER_TRY_COMMAND,
  command({
    name: 'import openapi',
    summary: 'make a stored definition of each operation of an OpenAPI 3 document',
    arguments: { file: { text: 'the document, in JSON or YAML' } },
    options: {
      host: { type: 'string', text: 'the host of the API; default: the server that the document names' },
      secret: { type: 'string', value: 'SECRET_NAME', text: 'the secret that calls send as the document asks' },
      header: {
        type: 'string',
        value: 'name=SECRET_NAME',
        multiple: true,
        text: 'a header that calls send, such as x-api-key=SECRET_A or "authorization=Bearer SECRET_A"',
      },
      tag: { type: 'string', multiple: true, text: 'import only operations with this tag' },
      path: { type: 'string', multiple: true, text: 'import only operations of this path and those below it' },
      operation: { type: 'string', value: 'id', multiple: true, text: 'import only this operation, or "GET /pets"' },
      limit: { type: 'string', value: 'number', text: 'import at most so many; default: all' },
      out: { type: 'string', value: 'folder', text: 'where the files are written; default tools/definitions' },
      put: { type: 'boolean', text: 'store them at the edge at EDGECALL_URL instead of writing files' },
    },
    run: async ({ root, env, arguments: { file }, options }) => {
      const { importOpenApi } = await import('./import.ts')
      await importOpenApi({ root, env, file, ...options })
    },
  }),
  command({
    name: 'import mcp',
    summary: 'add MCP servers to the project’s MCP Worker, and list their tools',
    arguments: { from: { text: 'the address of a server, or the configuration of an MCP client' } },
    options: {
      name: { type: 'string', text: 'the name of the server at that address; default: made of its host' },
      key: { type: 'boolean', text: 'the server wants a key, which the secret SECRET_<NAME> will hold' },
    },
    run: async ({ root, terminal, arguments: { from }, options }) => {
      const { importMcp } = await import('./mcp/import-mcp.ts')
      await importMcp({ root, terminal, from, ...options })
    },
  }),
  command({
    name: 'types',
    summary: 'write the names of an edge’s tools as a type, for createClient<ToolName>',
    arguments: {},
    options: { ...AT_EDGE, out: { type: 'string', value: 'file', text: 'where to write it; default: stdout' } },
    run: async ({ root, env, options: { url, out } }) => {
      const { writeTypes } = await import('./types.ts')
      await writeTypes({ root, env, url, out })
    },
  }),
  ...BACKUP_COMMANDS,
  COST_COMMAND,
  ...RUN_COMMANDS,
]
