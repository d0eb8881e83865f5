import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { RunRecord } from '../../src/contract/run.ts'
import { conversation, type Frame } from './client.ts'
import type { Follower } from './follower.ts'
import { callEnds, type CallEnd, type Evidence } from './evidence.ts'
import { faultsOf } from './judge.ts'
import { inputOf, type Script } from './script.ts'
import { insist, PATIENCE_MS, type World } from './world.ts'

const AGAIN_MS = 100

/** A run that was accepted. */
export interface Case {
  readonly script: Script
  readonly conversation: string
  readonly run: string
  readonly follower?: Follower
}

export interface Findings {
  readonly calls: readonly CallEnd[]
  readonly evidence: Evidence
  readonly faults: readonly string[]
}

/**
 * Posts the run of a script, with its token as the key: posted again, it is the same run. Rejects where the edge does
 * not accept it.
 */
export async function startRun(url: string, id: string, script: Script, body: object = {}): Promise<string> {
  const { status, body: answer } = await conversation(url, id).start(
    { input: inputOf(script.token), ...body },
    script.token,
  )
  if (status !== 202) throw new Error(`${script.token}: ${status} ${JSON.stringify(answer)}`)
  return (answer as RunRecord).id
}

/**
 * Asks for a run until its record is as it should be, every `everyMs`, over kills too; false once it has not changed for
 * `patienceMs`.
 */
export async function untilRecord(
  world: World,
  { conversation: id, run }: Case,
  isThere: (record: RunRecord) => boolean,
  { patienceMs = PATIENCE_MS, everyMs = AGAIN_MS } = {},
): Promise<boolean> {
  let before = ''
  for (let deadline = 0; ;) {
    const record = await insist(world, (url) => conversation(url, id).run(run))
    if (isThere(record)) return true
    const now = JSON.stringify(record)
    if (now !== before) deadline = Date.now() + patienceMs
    if (Date.now() > deadline) return false
    before = now
    await sleep(everyMs)
  }
}

/** Looks at all that is left of a run that should have completed, and reads its stream on from `cursors` places too. */
export async function examine(world: World, examined: Case, cursors = Infinity): Promise<Findings> {
  const evidence = await gather(world, examined)
  const faults = [...faultsOf(evidence), ...(await cursorFaults(world, evidence, cursors))]
  const { token } = examined.script
  return { calls: callEnds(evidence), evidence, faults: faults.map((fault) => `${token}: ${fault}`) }
}

/** Reads all that is left of a run, again if a kill comes amid. */
export async function gather(world: World, examined: Case): Promise<Evidence> {
  const { script, conversation: id, run, follower } = examined
  const [record, messages, replay] = await insist(world, (url) => {
    const edge = conversation(url, id)
    return Promise.all([edge.run(run), edge.messages(), allOf(edge.events(run))])
  })
  return {
    script,
    conversation: id,
    run,
    record,
    replay,
    messages: messages.filter((message) => message.run === run).map(({ message }) => message),
    effects: world.effects,
    ...(follower && { frames: follower.frames }),
  }
}

/** The stream from any place is the rest of the stream: places that are kept, and those that a crash swallowed. */
async function cursorFaults(
  world: World,
  { conversation: id, run, replay, frames = [] }: Evidence,
  most: number,
): Promise<string[]> {
  const faults: string[] = []
  const places = [...new Set([...replay, ...frames].map(({ event }) => event.seq))]
  for (const place of spread(places, most)) {
    const rest = await allOf(conversation(world.url() ?? '', id).events(run, `${run}.${place}`))
    const expected = replay.filter(({ event }) => event.seq > place)
    if (!isDeepStrictEqual(rest, expected)) faults.push(`the stream after ${place} is not the rest of the stream`)
  }
  return faults
}

async function allOf(frames: AsyncIterable<Frame>): Promise<Frame[]> {
  const all: Frame[] = []
  for await (const frame of frames) all.push(frame)
  return all
}

/** At most so many of the values, from all over them. */
function spread(values: readonly number[], most: number): number[] {
  const step = Math.max(1, values.length / most)
  return values.filter((_, index) => index % step < 1)
}
