/**
 * cli/: the commands of this repository, which run in Node only. May import contract/, wire/ and tool/. Code that runs
 * in a Worker must never import it.
 */
import { constants } from 'node:os'
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { deploy } from './deploy.ts'
import { writeDocument } from './document/document.ts'
import { Failure, Stopped } from './failure.ts'
import { importOpenApi } from './import.ts'
import { changeRun } from './runs.ts'
import { start } from './start.ts'
import { writeStudio } from './studio.ts'
import { writeTypes } from './types.ts'

const USAGE = `npm start                       start the edge and every tool Worker, ask an example, keep serving
npm start -- --ask "…"          start them, ask this question, print the run and end
npm run deploy                  deploy every tool Worker, then the edge, then the stored definitions
npm run deploy -- --dry-run     build them all and print their sizes; nothing is deployed
npm run import -- api.json [--host api.example.com] [--secret SECRET_API] [--out folder] [--put]
                                make a stored definition of each operation of an OpenAPI 3 document: a file in
                                tools/definitions, or with --put a tool of the edge at EDGECALL_URL
npx node src/cli/main.ts types --url https://… [--out file]
                                the names of an edge's tools as a type, for \`createClient<ToolName>\`
npx node src/cli/main.ts runs retry|cancel CONVERSATION RUN --url https://…
                                have a parked run resumed, or cancel a run
npm run openapi                 write the OpenAPI document, which \`GET /openapi.json\` answers, docs/configuration.md
                                and docs/errors.md

Where a command speaks to a deployed edge, EDGECALL_KEY is its key.
`

const HELP = { help: { type: 'boolean', short: 'h' } } as const

const IMPORT = {
  host: { type: 'string' },
  secret: { type: 'string' },
  out: { type: 'string' },
  put: { type: 'boolean' },
} as const

const TYPES = { url: { type: 'string' }, out: { type: 'string' } } as const

/** Runs a command. Exit codes: 0, 1 for a failure, 2 for wrong usage, 128 plus its number for a signal. */
async function run([command = 'help', ...args]: readonly string[]): Promise<number> {
  const root = process.cwd()
  const { env } = process
  if (command === 'start') {
    const options = parse(args, { ...HELP, ask: { type: 'string' } })
    if (!options.help) return start({ root, env, ask: options.ask }).then(() => 0)
  } else if (command === 'deploy') {
    const options = parse(args, { ...HELP, 'dry-run': { type: 'boolean' } })
    if (!options.help) return deploy({ root, env, dryRun: options['dry-run'] === true }).then(() => 0)
  } else if (command === 'import') {
    const [file = '', ...rest] = args[0]?.startsWith('-') ? ['', ...args] : args
    const options = parse(rest, { ...HELP, ...IMPORT })
    if (file === '' && !options.help) throw new UsageError('Say which document: npm run import -- api.json')
    if (!options.help) return importOpenApi({ root, env, file, ...options }).then(() => 0)
  } else if (command === 'types') {
    const options = parse(args, { ...HELP, ...TYPES })
    if (!options.help) return writeTypes({ root, env, ...options }).then(() => 0)
  } else if (command === 'runs') {
    const names = args.slice(0, 3)
    const [action, conversation = '', run = ''] = names
    const options = parse(args.slice(3), { ...HELP, url: { type: 'string' } })
    const isUsable = (action === 'retry' || action === 'cancel') && names.length === 3
    if (!isUsable || names.some((name) => name.startsWith('-')))
      throw new UsageError('Say what to do with which run: runs retry|cancel CONVERSATION RUN')
    return changeRun({ env, url: options.url, action, conversation, run }).then(() => 0)
  } else if (command === 'openapi') {
    if (!parse(args, HELP).help) {
      writeDocument(root)
      return 0
    }
  } else if (command === 'studio') {
    if (!parse(args, HELP).help) return writeStudio(root).then(() => 0)
  } else if (!['help', '--help', '-h'].includes(command)) {
    throw new UsageError(`There is no command "${command}"`)
  }
  process.stdout.write(USAGE)
  return 0
}

class UsageError extends Error {}

function parse<const Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function explain(error: unknown): number {
  if (error instanceof Stopped) return 128 + constants.signals[error.signal]
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n\n${USAGE}`)
    return 2
  }
  if (!(error instanceof Failure)) throw error
  process.stderr.write(`${error.message}\n${error.hint === '' ? '' : `${error.hint}\n`}`)
  return 1
}

process.exitCode = await run(process.argv.slice(2)).catch(explain)
