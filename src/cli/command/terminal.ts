import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { visible } from '../../contract/hidden-characters.ts'
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

/**
 * Prints text to stdout. All output of the commands goes through this file, since much of it is text that others have
 * written: what would move the cursor, hide or turn text is shown as an escape.
 */
export function printText(text: string): void {
  process.stdout.write(visible(text))
}

/** Prints text to stderr, as `printText` does to stdout. */
export function printError(text: string): void {
  process.stderr.write(visible(text))
}

/** Makes the terminal of this process. */
export function processTerminal({ isJson }: { readonly isJson: boolean }): Terminal {
  const canAnswer = () => process.stdin.isTTY && process.stdout.isTTY && !isJson && !process.env['CI']
  return {
    isJson,
    print: isJson ? printError : printText,
    emit: (value) => {
      if (isJson) printText(`${JSON.stringify(value)}\n`)
    },
    askSecret: async (question, hint) => {
      if (!canAnswer()) throw new Failure(`${question} needs an answer, and there is no terminal to ask on.`, hint)
      printText(`${question}: `)
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
      const reader = createInterface({ input: process.stdin, output: silent, terminal: true })
      try {
        return await reader.question('')
      } finally {
        reader.close()
        printText('\n')
      }
    },
    confirm: async (question, hint) => {
      if (!canAnswer()) throw new Failure(question, hint)
      const reader = createInterface({ input: process.stdin, output: process.stdout })
      try {
        return /^y(?:es)?$/i.test((await reader.question(visible(`${question} [y/N] `))).trim())
      } finally {
        reader.close()
      }
    },
  }
}
