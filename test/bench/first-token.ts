import { median, type Quartiles, quartiles } from './statistics.ts'
import type { Subject } from './subjects.ts'
import type { Workload } from './workloads.ts'

const REQUESTS = 5

const WORKLOAD: Workload = {
  ...{ name: 'first token', model: 'paced-30', stream: true, requests: REQUESTS },
  messages: [{ role: 'user', content: 'What is the square root of 2?' }],
}

/** How long the first token of a streamed answer is under way, by the subject's name: quartiles of rounds, in ms. */
export type FirstTokens = Readonly<Record<string, Quartiles>>

/**
 * Measures how long the first token takes from the model, which then goes on at 5 ms a token, to the caller. Tools are on
 * offer and every option has its default.
 */
export async function measureFirstTokens(subjects: readonly Subject[], rounds: number): Promise<FirstTokens> {
  const waits: Record<string, number[]> = {}
  for (let round = 0; round <= rounds; round++) {
    for (const subject of subjects) {
      const each: number[] = []
      for (let chunks = 0; chunks < REQUESTS; chunks++) each.push(await waitMs(subject, `token-${round}`))
      // The first round is not counted: code is compiled in it.
      if (round > 0) (waits[subject.name] ??= []).push(median(each))
    }
  }
  return Object.fromEntries(Object.entries(waits).map(([name, each]) => [name, quartiles(each)]))
}

async function waitMs(subject: Subject, conversation: string): Promise<number> {
  const { url, headers, body } = subject.request(WORKLOAD, conversation)
  const response = await fetch(url, { method: 'POST', headers, body })
  if (!response.ok || !response.body) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  let text = ''
  let at: number | undefined
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const now = process.hrtime.bigint()
    text += part
    const [, written] = (at === undefined && /<(\d+)>/.exec(text)) || []
    if (written !== undefined) at = Number(now - BigInt(written)) / 1e6
  }
  if (at === undefined) throw new Error(`${subject.name} wrote no first token: ${text.slice(0, 500)}`)
  return at
}
