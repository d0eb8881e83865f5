import { isDeepStrictEqual } from 'node:util'
import { type Case, examine, startRun } from './case.ts'
import { type Answer, conversation, type Frame } from './client.ts'
import { inputOf, type Point, type Script } from './script.ts'
import { PATIENCE_MS, until, type World } from './world.ts'

/** Readers who leave, each after another event: more than the run has events. */
const READERS = 60
/** Requests that are posted at once with one key. */
const POSTS = 20

/**
 * Many who read one run while it runs, and each leaves after another event and comes again: all see what one sees who
 * stays. In the end the stream after each event is read once more.
 */
export async function playReaders(world: World): Promise<string[]> {
  const hold = Promise.withResolvers<void>()
  const pause = (point: Point) => (point === 'speaking 1' ? hold.promise : Promise.resolve())
  const script: Script = { token: 'readers', rounds: [['plain', 'idempotent']], pause }
  world.add(script)
  const url = world.url() ?? ''
  await conversation(url, 'readers').make()
  const read: Case = { script, conversation: 'readers', run: await startRun(url, 'readers', script) }
  let arrived = 0
  const readers = Array.from({ length: READERS }, (_, index) => readAgain(url, read, index + 1, () => (arrived += 1)))
  const stayed = readAgain(url, read, Infinity, () => (arrived += 1))
  const faults: string[] = []
  if (!(await until(() => arrived > READERS, PATIENCE_MS))) faults.push(`${arrived} of ${READERS} readers came`)
  hold.resolve()
  const journal = await stayed
  if (journal.length > READERS) faults.push(`the run has ${journal.length} events, too many for ${READERS} readers`)
  for (const [index, inputs] of (await Promise.all(readers)).entries()) {
    if (!isDeepStrictEqual(inputs, journal)) faults.push(`who left after event ${index + 1} saw something else`)
  }
  return [...faults, ...(await examine(world, read)).faults]
}

/** Reads a run, leaves after so many frames, and reads on after the last of them. */
async function readAgain(url: string, read: Case, leaveAfter: number, onArrival: () => void): Promise<Frame[]> {
  const edge = conversation(url, read.conversation)
  const frames: Frame[] = []
  for await (const frame of edge.events(read.run)) {
    if (frames.push(frame) === 1) onArrival()
    if (frames.length === leaveAfter) break
  }
  if (frames.at(-1)?.type === 'run.finished') return frames
  for await (const frame of edge.events(read.run, frames.at(-1)?.id)) frames.push(frame)
  return frames
}

/** One request that is posted many times at once with one key is one run, and every caller gets it. */
export async function playKey(world: World): Promise<string[]> {
  const script: Script = { token: 'key', rounds: [['plain']] }
  world.add(script)
  const edge = conversation(world.url() ?? '', 'key')
  await edge.make()
  const body = { input: inputOf(script.token) }
  const answers = await Promise.all(
    Array.from({ length: POSTS }, (_, index) => (index % 2 === 0 ? edge.start : edge.startAndWait)(body, 'key')),
  )
  const runs = await edge.runs()
  const [run] = runs
  if (!run || runs.length > 1) return [`${POSTS} posts with one key made ${runs.length} runs`]
  const record = await edge.run(run.id)
  const faults = answers.flatMap(({ status, body }: Answer, index) => {
    const isRight = index % 2 === 0 ? isOf(body, run.id) && status === 202 : isDeepStrictEqual(body, record)
    return isRight ? [] : [`post ${index} was answered ${status} ${JSON.stringify(body)}`]
  })
  return [...faults, ...(await examine(world, { script, conversation: 'key', run: run.id })).faults]
}

function isOf(body: unknown, run: string): boolean {
  return typeof body === 'object' && body !== null && 'id' in body && body.id === run
}
