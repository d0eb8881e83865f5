import { parseArgs } from 'node:util'
import type { Command, CommandOptions, Invocation } from './command.ts'

/** Wrong usage of a command, which ends it with exit code 2. */
export class UsageError extends Error {
  /** The command that was used wrongly, if it is known. */
  readonly command: Command | undefined

  constructor(message: string, command?: Command) {
    super(message)
    this.name = 'UsageError'
    this.command = command
  }
}

/** Options that every command has. */
export const COMMON: CommandOptions = {
  json: { type: 'boolean', text: 'print JSON, one value a line, instead of text' },
  help: { type: 'boolean', short: 'h', text: 'show this help' },
}

/** A command line as it was understood. */
export interface CommandLine {
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
    throw new UsageError(error instanceof Error ? error.message : String(error), command)
  }
}
