import type { Command } from './command.ts'
import { COMMON } from './parse.ts'

const WIDTH = 32

/** Returns the list of commands, optionally of those alone whose names begin with a word. */
export function helpOfAll(commands: readonly Command[]): string {
  const lines = commands.map((command) => row(usageOf(command), command.summary))
  return `Usage: edgecall <command>

${lines.join('')}
Every command has --json, and --help, which tells its options.
Exit codes: 0, 1 for a failure, 2 for wrong usage, 128 plus the number of a signal.
Commands that speak to an edge take its address from --url or EDGECALL_URL, and its key from EDGECALL_KEY.
`
}

/** Returns the help of one command. */
export function helpOf(command: Command): string {
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
