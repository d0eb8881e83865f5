import type { Terminal } from './terminal.ts'

/** A word that follows the command's name. */
export interface Argument {
  /** What it is, for the help. */
  readonly text: string
  readonly optional?: boolean
}

/** An option, such as `--url <address>`. */
export interface Option {
  readonly type: 'string' | 'boolean'
  /** What it does, for the help. */
  readonly text: string
  /** What the help calls the value of a `string` option, such as `address`. Default: the option's name. */
  readonly value?: string
  readonly short?: string
  /** Whether the option may be given more than once. */
  readonly multiple?: boolean
}

export type CommandArguments = Readonly<Record<string, Argument>>
export type CommandOptions = Readonly<Record<string, Option>>

/** What a command is run with. */
export interface Invocation<Words = GivenWords, Values = GivenValues> {
  /** The folder in which the command was called. */
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, with a `Stopped`. */
  readonly signal: AbortSignal
  readonly arguments: Words
  readonly options: Values
}

type GivenWords = Readonly<Record<string, string | undefined>>
type GivenValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

type WordsOf<A extends CommandArguments> = {
  readonly [Name in keyof A]: A[Name]['optional'] extends true ? string | undefined : string
}
type ValuesOf<O extends CommandOptions> = { readonly [Name in keyof O]: OptionValue<O[Name]> }

type OptionValue<O extends Option> = O['type'] extends 'boolean'
  ? boolean
  : O['multiple'] extends true
    ? readonly string[]
    : string | undefined

/** A command of `edgecall`: all that the parser, the help and the caller need to know about it. */
export interface Command<Words = GivenWords, Values = GivenValues> {
  /** One word, or two such as `new tool`. */
  readonly name: string
  /** What it does, in one line. */
  readonly summary: string
  /** In the order in which they are given. */
  readonly arguments: CommandArguments
  readonly options: CommandOptions
  /** Further paragraphs of its help. Default: none. */
  readonly notes?: readonly string[]
  /** The oldest Node that can run it. Default 22, which wrangler needs. */
  readonly node?: number
  /**
   * Does the work. Resolves with an exit code, or nothing for 0. Throws a Failure for what the user can correct, which
   * ends the command with exit code 1. Code that is slow to load is imported here, not by the module of the table.
   */
  run(invocation: Invocation<Words, Values>): Promise<number | void>
}

/** Declares a command. The types of `arguments` and `options` in `run` follow from the declaration. */
export function command<const A extends CommandArguments, const O extends CommandOptions>(
  declaration: { readonly arguments: A; readonly options: O } & Command<WordsOf<A>, ValuesOf<O>>,
): Command {
  // A method takes narrower parameters, and `parse` makes exactly what the declaration names.
  return declaration
}

/** The option of commands that speak to an edge. */
export const AT_EDGE = {
  url: {
    type: 'string',
    value: 'address',
    text: 'the edge; default: EDGECALL_URL, else the edge that `edgecall dev` runs in this folder',
  },
} as const
