import { setImmediate } from 'node:timers/promises'
import { type Case, examine, startRun } from './case.ts'
import { conversation } from './client.ts'
import { Follower } from './follower.ts'
import type { Moment, Sight } from './moments.ts'
import type { Point, Script, ToolClass } from './script.ts'
import { PATIENCE_MS, until, WATCHDOG_MS, type World } from './world.ts'

/** What a row of the table came to. */
export interface RowEnd {
  readonly name: string
  /** How often each call was sent, and what the model was told of it. */
  readonly calls: readonly string[]
  readonly faults: readonly string[]
  /** How often its reader's stream ended in good order before the run had. */
  readonly early: number
}

/** A run that is on its way to a moment, and what was seen of it. */
export class Row implements Sight {
  readonly moment: Moment
  readonly script: Script
  readonly name: string
  readonly conversation: string
  readonly calls: number
  /** Its reader comes again as soon as the edge does. Else nobody asks for the run before it has gone on by itself. */
  readonly isWatched: boolean
  posted: (Case & { readonly follower: Follower }) | undefined
  readonly #came = new Map<Point, number>()
  readonly #holds: ReadonlyMap<string, PromiseWithResolvers<void>>

  constructor(
    moment: Moment,
    { token, tools, isWatched }: { token: string; tools: readonly ToolClass[]; isWatched: boolean },
  ) {
    this.moment = moment
    this.isWatched = isWatched
    this.calls = tools.length
    this.name = `${moment.name} (${tools.join(', ')}; ${isWatched ? 'watched' : 'left alone'})`
    this.conversation = `of-${token}`
    this.#holds = new Map(moment.holds.map((point) => [point, Promise.withResolvers<void>()]))
    this.script = { token, rounds: [tools], pause: (point) => this.#comeTo(point) }
  }

  readonly came = (point: Point): number => this.#came.get(point) ?? 0

  readonly saw = (type: string, step?: number): number =>
    this.posted?.follower.frames.filter(({ event }) => {
      return event.type === type && (step === undefined || ('step' in event && event.step === step))
    }).length ?? 0

  /** Posts the run, and reads along; posted again, it is the same run. */
  async start(world: World): Promise<void> {
    const { script, conversation: id } = this
    if (this.posted) return
    const url = world.url() ?? ''
    const run = await startRun(url, id, script, { limits: { callMs: WATCHDOG_MS } })
    const follower = new Follower(id, run)
    this.posted = { script, conversation: id, run, follower }
    void (this.isWatched ? follower.follow(world.url) : follower.read(url))
  }

  readonly letGo = (point: string): void => this.#holds.get(point)?.resolve()

  letAllGo(): void {
    for (const hold of this.#holds.values()) hold.resolve()
  }

  async #comeTo(point: Point): Promise<void> {
    this.#came.set(point, this.came(point) + 1)
    await this.#holds.get(point)?.promise
  }
}

/** All moments with all mixes of tools, twice: with a reader who comes again, and left alone. */
export function rowsOf(moments: readonly Moment[], mixes: readonly (readonly ToolClass[])[]): Row[] {
  return moments.flatMap((moment, m) =>
    mixes.flatMap((tools, t) =>
      [true, false].map((isWatched) => {
        const token = `m${m}-t${t}-${isWatched ? 'watched' : 'alone'}`
        return new Row(moment, { token, tools, isWatched })
      }),
    ),
  )
}

/** Brings every run to its moment and holds it there, kills the edge once for all of them, and starts it again. */
export async function killAt(world: World, rows: readonly Row[]): Promise<void> {
  const requests = rows.filter(({ moment }) => moment.last === 'request')
  const finalRows = rows.filter(({ moment }) => moment.last === 'request, answered')
  const others = rows.filter((row) => !requests.includes(row) && !finalRows.includes(row))
  await Promise.all(
    rows.map(async (row) => {
      world.add(row.script)
      await conversation(world.url() ?? '', row.conversation).make()
      if (others.includes(row)) await row.start(world)
    }),
  )
  const unreached = () => rows.filter((row) => !row.moment.isReached(row)).map(({ name }) => name)
  if (!(await until(() => unreached().length === 0, PATIENCE_MS))) {
    throw new Error(`Runs that do not come to their moments: ${unreached().join(', ')}`)
  }
  await Promise.all(finalRows.map((row) => row.start(world)))
  for (const { moment, letGo } of others) if (moment.last) letGo(moment.last)
  // An answer comes to nobody; the caller comes again.
  const posted = Promise.allSettled(requests.map((row) => row.start(world)))
  // What was let go is on its way when the edge dies.
  await setImmediate()
  await world.kill()
  await posted
  for (const row of rows) row.letAllGo()
  await world.start()
  await Promise.all(requests.map((row) => row.start(world)))
}

/** Waits for the end of a run that was killed, and compares what is left with what the table says. */
export async function endOf(world: World, row: Row): Promise<RowEnd> {
  const { moment, script, name, isWatched, posted } = row
  if (!posted) throw new Error(`${name}: the run was never posted`)
  const { follower } = posted
  const faults: string[] = []
  if (!moment.mayHaveEnded && !(await until(() => world.hasAsked(script.token), PATIENCE_MS))) {
    faults.push('the run did not go on by itself')
  }
  if (!isWatched) void follower.follow(world.url)
  if (!(await until(() => follower.hasSeenEnd, PATIENCE_MS))) {
    return { name, calls: [], faults: [...faults, 'the run has no end'], early: follower.early }
  }
  const { calls, faults: found } = await examine(world, posted)
  const ends = calls.map(({ tool, deliveryCount, outcome }) => ({ tool, end: `${deliveryCount} ${outcome}` as const }))
  const wrong = ends.filter(({ tool, end }) => !moment.ends[tool as ToolClass].includes(end))
  return {
    name,
    calls: ends.map(({ tool, end }) => `${tool} ${end}`),
    faults: [...faults, ...found, ...wrong.map(({ tool, end }) => `the ${tool} call came to "${end}"`)],
    early: follower.early,
  }
}
