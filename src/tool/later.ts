import type { Deferral, ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

/** What a tool returns instead of a result that comes later; made by `context.later(…)`. */
export class Later {
  readonly deferral: Deferral

  constructor(deferral: Deferral) {
    const { within, poll } = deferral
    if (!(within > 0 && (poll === undefined || poll > 0))) {
      throw new TypeError('context.later() needs { within }, in milliseconds above 0; so is `poll`')
    }
    this.deferral = deferral
  }
}

/** Returns the outcome of a call whose result comes later. */
export function laterOutcome({ deferral }: Later): ToolFailure {
  const message = 'The result comes later, and nobody can wait for it here. Do not call the tool again.'
  return { ...failure('later', message), later: deferral }
}
