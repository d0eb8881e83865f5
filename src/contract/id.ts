/** Ids of conversations and runs that a caller may choose or send: `[A-Za-z0-9_-]{1,64}`. */
export const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Names of tools, as every provider takes them. */
export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LENGTH = 22

/** A prefix and 22 random letters and digits: 131 bits, so that nobody guesses one. */
export function newId(prefix: 'conv' | 'run' | 'key'): string {
  let id = ''
  while (id.length < LENGTH) {
    // Half as many again, so that what is passed over seldom asks for more.
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH * 1.5))) {
      // 248 is the largest multiple of 62 in a byte: what lies above would favour some letters.
      if (byte < 248 && id.length < LENGTH) id += ALPHABET[byte % 62]
    }
  }
  return `${prefix}_${id}`
}

/** The id of the run that these texts stand for: the same for the same texts, and as hard to guess as they are. */
export async function runIdOf(...texts: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(texts))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `run_${Array.from(digest.subarray(0, LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('')}`
}

/**
 * The id of a call: its run, step and place, so that a resumed run gives it again. At most 40 characters, as OpenAI
 * wants, for runs of fewer than 1,000 steps and calls a step.
 */
export function callId(runId: string, step: number, index: number): string {
  return `call_${runId.replace(/^run_/, '')}_${step}_${index}`
}

/** The run of a call id, or undefined where it is none of ours. */
export function runOfCall(callId: string): string | undefined {
  const match = /^call_([A-Za-z0-9]{22})_\d+_\d+$/.exec(callId)
  return match ? `run_${match[1]}` : undefined
}
