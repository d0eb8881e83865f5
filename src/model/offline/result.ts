/** The result of a call, with the question that the call was made for. */
import type { Moment } from './moment.ts'
import type { Profile } from './profile.ts'
import type { Reading } from './read.ts'

export interface Result {
  readonly reading: Reading
  /** Absent if the tool is no longer offered. */
  readonly profile?: Profile
  readonly arguments: Readonly<Record<string, unknown>>
  readonly ok: boolean
  readonly text: string
  readonly now?: Moment | undefined
}

/** The input for wording: the question, the arguments of the call, and the present time if it is known. */
export type Voice = Pick<Result, 'reading' | 'arguments' | 'now'>
