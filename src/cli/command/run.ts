import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import type { Command, CommandOptions, Invocation } from './command.ts'
import { printError, printText, processTerminal } from './terminal.ts'
import { Failure, Stopped } from '../failure.ts'
import { useProxy } from '../proxy.ts'

const OLDEST_NODE = 22

/**
 * Runs the command that a command line names. Returns its exit code: 0, 1 for a failure, 2 for wrong usage, 128 plus its
 * number for a signal. Failures are printed to stderr; under `--json` to stdout too, as `{ "error": { message, hint } }`.
 */
export async function runCommand(commands: readonly Command[], words: readonly string[]): Promise<number> {
  const isJson = words.includes('--json')
  try {
    return await dispatch(commands, words)
  } catch (error) {
    if (error instanceof Stopped) return 128 + constants.signals[error.signal]
    if (error instanceof UsageError) {
      report({ message: error.message, hint: helpAfter(error, commands) }, isJson)
      return 2
    }
    if (!(error instanceof Failure)) throw error
    report(error, isJson)
    return 1
  }
}

async function dispatch(commands: readonly Command[], words: readonly string[]): Promise<number> {
  const [first = 'help', ...others] = words
  if (['help', '--help', '-h'].includes(first)) {
    // `help new tool` is `new tool --help`.
    if (first === 'help' && others.some((word) => !word.startsWith('-')))
      return dispatch(commands, [...others, '--help'])
    printText(helpOfAll(commands))
    return 0
  }
  const match = findCommand(commands, words)
  if (!match) return helpOfGroup(commands, words)
  const [command, count] = match
  const usage = parse(command, words.slice(count))
  if (usage.isHelp) {
    printText(helpOf(command))
    return 0
  }
  checkNode(command)
  const { arguments: args, options } = usage
  const terminal = processTerminal({ isJson: usage.isJson })
  const signal = stopSignal()
  const { env } = process
  await useProxy(env)
  return (await command.run({ root: process.cwd(), env, terminal, signal, arguments: args, options })) ?? 0
}

/** Prints the commands of a group, such as those of `new`. Throws a UsageError for a word that none begins with. */
function helpOfGroup(commands: readonly Command[], [first = '', second]: readonly string[]): number {
  const group = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (group.length === 0) throw new UsageError(`There is no command "${first}"`)
  if (second !== '--help' && second !== '-h') {
    const names = group.map(({ name }) => name).join(', ')
    throw new UsageError(`There is no command "${[first, second].join(' ').trim()}". There are: ${names}`)
  }
  printText(helpOfAll(group))
  return 0
}

function checkNode({ name, node = OLDEST_NODE }: Command): void {
  const [major = '0'] = process.versions.node.split('.')
  if (Number(major) >= node) return
  throw new Failure(
    `edgecall ${name} needs Node ${node} or newer; this is ${process.versions.node}.`,
    'Run it with npx in a project that edgecall init has made: such a project brings a newer Node with it.',
  )
}

function helpAfter({ command }: UsageError, commands: readonly Command[]): string {
  return `\n${command ? helpOf(command) : helpOfAll(commands)}`.trimEnd()
}

function report({ message, hint }: { readonly message: string; readonly hint: string }, isJson: boolean): void {
  printError(`${message}\n${hint === '' ? '' : `${hint}\n`}`)
  if (isJson) printText(`${JSON.stringify({ error: { message, hint: hint.trim() } })}\n`)
}

/** Returns a signal that the first SIGINT, SIGTERM or SIGHUP aborts, with a `Stopped`. The second one ends the process. */
function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => stop.abort(new Stopped(signal)))
  }
  // The reader of the output has gone, as after `edgecall dev | head`.
  process.stdout.on('error', () => stop.abort(new Stopped('SIGPIPE')))
  return stop.signal
}

const WIDTH = 32

/** Returns the list of commands, optionally of those alone whose names begin with a word. */
function helpOfAll(commands: readonly Command[]): string {
  const lines = commands.map((command) => row(usageOf(command), command.summary))
  return `Usage: edgecall <command>

${lines.join('')}
Every command has --json, and --help, which tells its options.
Exit codes: 0, 1 for a failure, 2 for wrong usage, 128 plus the number of a signal.
Commands that speak to an edge take its address from --url or EDGECALL_URL, and its key from EDGECALL_KEY.
`
}

/** Returns the help of one command. */
function helpOf(command: Command): string {
  const words = Object.entries(command.arguments).map(([name, { text }]) => row(`<${name}>`, text))
  const options = Object.entries({ ...command.options, ...COMMON }).map(([name, option]) => {
    const { type, short, value = name, text } = option
    return row(`${short === undefined ? '' : `-${short}, `}--${name}${type === 'string' ? ` <${value}>` : ''}`, text)
  })
  const notes = (command.notes ?? []).map((note) => `\n${note}\n`)
  return `Usage: edgecall ${usageOf(command)} [options]

${command.summary}

${[...words, ...options].join('')}${notes.join('')}`
}

function usageOf({ name, arguments: words }: Command): string {
  return [name, ...Object.entries(words).map(([word, { optional }]) => (optional ? `[${word}]` : `<${word}>`))].join(
    ' ',
  )
}

function row(term: string, explanation: string): string {
  return term.length < WIDTH
    ? `  ${term.padEnd(WIDTH)}${explanation}\n`
    : `  ${term}\n  ${' '.repeat(WIDTH)}${explanation}\n`
}

/** Wrong usage of a command, which ends it with exit code 2. */
class UsageError extends Error {
  /** The command that was used wrongly, if it is known. */
  readonly command: Command | undefined

  constructor(message: string, command?: Command) {
    super(message)
    this.name = 'UsageError'
    this.command = command
  }
}

/** Options that every command has. */
const COMMON: CommandOptions = {
  json: { type: 'boolean', text: 'print JSON, one value a line, instead of text' },
  help: { type: 'boolean', short: 'h', text: 'show this help' },
}

/** A command line as it was understood. */
interface CommandLine {
  readonly command: Command
  readonly isJson: boolean
  readonly isHelp: boolean
  readonly arguments: Invocation['arguments']
  readonly options: Invocation['options']
}

/** Returns the command that a command line names, and how many of its words are the name. */
export function findCommand(commands: readonly Command[], words: readonly string[]): [Command, number] | undefined {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(' ')
    const match = words.length >= count && commands.find((command) => command.name === name)
    if (match) return [match, count]
  }
  return undefined
}

/** Reads the words after a command's name. Throws a UsageError for an unknown option, or an argument too few or many. */
export function parse(command: Command, words: readonly string[]): CommandLine {
  const { values, positionals } = readWords(command, words)
  const names = Object.keys(command.arguments)
  const isHelp = values['help'] === true
  const missing = names.find((name, at) => !command.arguments[name]?.optional && positionals[at] === undefined)
  if (missing !== undefined && !isHelp) {
    throw new UsageError(`${command.name} needs <${missing}>: ${command.arguments[missing]?.text}`, command)
  }
  const extra = positionals[names.length]
  if (extra !== undefined) throw new UsageError(`Unexpected argument '${extra}'`, command)
  return {
    command,
    isJson: values['json'] === true,
    isHelp,
    arguments: Object.fromEntries(names.map((name, at) => [name, positionals[at]])),
    options: Object.fromEntries(
      Object.entries(command.options).map(([name, { type, multiple }]) => {
        const initial = type === 'boolean' ? false : multiple ? [] : undefined
        const value = values[name] ?? initial
        return [name, Array.isArray(value) ? value.map(String) : value]
      }),
    ),
  }
}

function readWords(command: Command, words: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries({ ...command.options, ...COMMON }).map(([name, option]) => {
      const { type, short, multiple = false } = option
      return [name, { type, multiple, ...(short !== undefined && { short }) }]
    }),
  )
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true })
  } catch (error) {
    // Node adds how to give an argument that begins with a hyphen, which is hardly ever what was meant.
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(message.replace(/(?<=^Unknown option '[^']*')\. .*$/s, ''), command)
  }
}
