import { constants } from 'node:os'
import { Failure, Stopped } from '../failure.ts'
import type { Command } from './command.ts'
import { helpOf, helpOfAll } from './help.ts'
import { findCommand, parse, UsageError } from './parse.ts'
import { stopSignal } from './signal.ts'
import { processTerminal } from './terminal.ts'

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
  const [first = 'help'] = words
  if (['help', '--help', '-h'].includes(first)) {
    process.stdout.write(helpOfAll(commands))
    return 0
  }
  const match = findCommand(commands, words)
  if (!match) return helpOfGroup(commands, words)
  const [command, count] = match
  const usage = parse(command, words.slice(count))
  if (usage.isHelp) {
    process.stdout.write(helpOf(command))
    return 0
  }
  checkNode(command)
  const { arguments: args, options } = usage
  const terminal = processTerminal({ isJson: usage.isJson })
  const signal = stopSignal()
  const { env } = process
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
  process.stdout.write(helpOfAll(group))
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
  process.stderr.write(`${message}\n${hint === '' ? '' : `${hint}\n`}`)
  if (isJson) process.stdout.write(`${JSON.stringify({ error: { message, hint: hint.trim() } })}\n`)
}
