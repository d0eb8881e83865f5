/** What became of a call, with the question that it was made for. */
import type { Moment } from './moment.ts'
import type { Profile } from './profile.ts'
import type { Reading } from './read.ts'

export interface Result {
  readonly reading: Reading
  /** Absent where the tool is no longer on offer. */
  readonly profile?: Profile
  readonly arguments: Readonly<Record<string, unknown>>
  readonly ok: boolean
  readonly text: string
  readonly now?: Moment | undefined
}

/** What wording depends on: the question, what the tool was asked with, and the present time where it is known. */
export type Voice = Pick<Result, 'reading' | 'arguments' | 'now'>
