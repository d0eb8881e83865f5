import { Failure } from '../failure.ts'

/** Something that keeps a project from running or being deployed. */
export interface CheckProblem {
  /** The file to change, relative to the project's folder. */
  readonly file: string
  readonly line?: number
  readonly message: string
  /** What to do about it. */
  readonly remedy: string
}

/** Makes the Failure of a command that these problems stop: one line for each, with its file and its remedy. */
export function failureOf(problems: readonly CheckProblem[]): Failure {
  return new Failure(problems.map(problemLine).join('\n'))
}

function problemLine({ file, line, message, remedy }: CheckProblem): string {
  return `${file}${line === undefined ? '' : `:${line}`}: ${message} ${remedy}`.trim()
}
