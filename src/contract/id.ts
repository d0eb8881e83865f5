/** Ids of conversations and runs that a caller may choose or send: `[A-Za-z0-9_-]{1,64}`. */
export const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Names of tools, as all providers accept them. */
export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LENGTH = 22

/** Returns a prefix and 22 random letters and digits: 131 bits, which nobody can guess. */
export function newId(prefix: 'conv' | 'run' | 'key' | 'ek' | 'req' | 'mcp'): string {
  let id = ''
  while (id.length < LENGTH) {
    // Half as many bytes again as needed: some are rejected below, and a second round is rare.
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH * 1.5))) {
      // 248 is the largest multiple of 62 in a byte; higher values would make some characters more likely.
      if (byte < 248 && id.length < LENGTH) id += ALPHABET[byte % 62]
    }
  }
  return `${prefix}_${id}`
}

/** Derives a run's id from texts: the same texts give the same id, which is as hard to guess as they are. */
export async function deriveRunId(...texts: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(texts))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `run_${Array.from(digest.subarray(0, LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('')}`
}

/**
 * Returns the id of a call, made of its run, step and place, so that a resumed run gives it the same id. At most 40
 * characters, OpenAI's limit, in runs of fewer than 1,000 steps and 1,000 calls per step. `isUnstored`: the run hands
 * out calls and is not stored. Its calls have a zero before the step, by which `runOfCall` knows that there is no run to find.
 */
export function callId(runId: string, step: number, index: number, isUnstored = false): string {
  return `call_${runId.replace(/^run_/, '')}_${isUnstored ? '0' : ''}${step}_${index}`
}

/** Returns the id of a call that a program makes, by its number among the calls of that program. */
export function innerCallId(parent: string, index: number): string {
  return `${parent}-${index}`
}

/** Returns the id of the call whose program makes this call; undefined if no program does. */
export function parentOfCall(callId: string): string | undefined {
  return /^(.+_\d+_\d+)-\d+$/.exec(callId)?.[1]
}

/** Returns the run that a call id belongs to, or undefined if no edge made the id, or the run was not stored. */
export function runOfCall(callId: string): string | undefined {
  const match = /^call_([A-Za-z0-9]{22})_[1-9]\d*_\d+(?:-\d+)?$/.exec(callId)
  return match ? `run_${match[1]}` : undefined
}

/** Returns the step that a call id made by the edge belongs to; 1 for any other id. */
export function stepOfCall(callId: string): number {
  return Number(/_(\d+)_\d+(?:-\d+)?$/.exec(callId)?.[1] ?? 1)
}
