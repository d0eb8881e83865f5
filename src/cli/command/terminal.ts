import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Failure } from '../failure.ts'

/** Where a command writes, for people or, under `--json`, for programs. */
export interface Terminal {
  /** Whether `--json` was given. */
  readonly isJson: boolean
  /** Prints text for people: to stdout, or under `--json` to stderr. */
  readonly print: (text: string) => void
  /** Under `--json`, prints a value as one line of stdout; else nothing. */
  readonly emit: (value: unknown) => void
  /**
   * Asks for a line of text, such as a secret, and does not show what is typed. Throws a Failure with that hint if
   * nobody can answer: without a terminal, under `--json`, or with CI set.
   */
  askSecret(question: string, hint: string): Promise<string>
  /** Asks for a yes or no; anything but a yes is a no. Throws a Failure with that hint if nobody can answer. */
  confirm(question: string, hint: string): Promise<boolean>
}

/** Makes the terminal of this process. */
export function processTerminal({ isJson }: { readonly isJson: boolean }): Terminal {
  const people = isJson ? process.stderr : process.stdout
  const canAnswer = () => process.stdin.isTTY && process.stdout.isTTY && !isJson && !process.env['CI']
  return {
    isJson,
    print: (text) => void people.write(text),
    emit: (value) => {
      if (isJson) process.stdout.write(`${JSON.stringify(value)}\n`)
    },
    askSecret: async (question, hint) => {
      if (!canAnswer()) throw new Failure(`${question} needs an answer, and there is no terminal to ask on.`, hint)
      process.stdout.write(`${question}: `)
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
      const reader = createInterface({ input: process.stdin, output: silent, terminal: true })
      try {
        return await reader.question('')
      } finally {
        reader.close()
        process.stdout.write('\n')
      }
    },
    confirm: async (question, hint) => {
      if (!canAnswer()) throw new Failure(question, hint)
      const reader = createInterface({ input: process.stdin, output: process.stdout })
      try {
        return /^y(?:es)?$/i.test((await reader.question(`${question} [y/N] `)).trim())
      } finally {
        reader.close()
      }
    },
  }
}
