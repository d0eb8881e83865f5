import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { Chance } from '../chance.ts'
import { PATIENCE_MS, SPREAD_MS, until, WATCHDOG_MS, type World } from '../world.ts'
import { type Ending, IS_ANSWERED, IS_SENT, type Kind, type Stage, tenantFaults } from './kind.ts'

/** How many runs one kill is for. */
const RUNS_A_KILL = 24
/** Two points that lie further apart than this, in milliseconds, are for two kills: whoever comes first would wait too long. */
const MOST_APART_MS = 5000
/**
 * What becomes of a run at its point: it is held there until the edge is dead, or let go so many milliseconds before, so
 * that the edge dies while it takes note. At the answer of a request: the answer is lost with the edge.
 */
type Way = 'held' | 'lost' | number
/** For how long runs have been let go, one of these for each point in turn. */
const DELAYS_MS = [0, 5, 20, 80] as const
/** The same of a request, all of them: the edge dies before it comes, while it is accepted, and after it was answered. */
const REQUEST_DELAYS_MS = [0, 20, 100] as const
/** How long the runs of one kill may take to come to their points, in milliseconds, while some of them go on. */
const MOST_WAIT_MS = 10 * 60_000
/** The part of the moments that may be missed. */
const MOST_MISSED = 0.2
/** How likely an answer is lost amid random kills. */
const LOSS = 0.3

/** A point of a kind of run at which the edge is killed. */
export interface Moment {
  readonly kind: Kind
  readonly point: string
  readonly way: Way
  /** When a run that nobody kills comes there, in milliseconds after its start. */
  readonly afterMs: number
}

/** Plays runs of all kinds on one edge, and adds up what they came to. */
export class Player {
  readonly faults: string[] = []
  kills = 0
  runs = 0
  /** The moments for which the edge was killed. */
  moments = 0
  readonly #world: World
  readonly #seed: number
  readonly #tally = new Map<string, number>()
  #tokens = 0
  /** Moments whose runs had not come there when the edge was killed: on a machine that is too busy for them. */
  readonly #missed: string[] = []

  constructor(world: World, seed: number) {
    this.#world = world
    this.#seed = seed
  }

  /**
   * Plays a kind once without a kill, and returns the points that it passes, in their order: each to be held at, and to be let
   * go from.
   */
  async momentsOf(kind: Kind): Promise<Moment[]> {
    const points = new Map<string, number>()
    const began = Date.now()
    await this.#play(kind, `${nameOf(kind)}-0`, {
      isWatched: true,
      pass: async (point) => {
        if (!points.has(point)) points.set(point, Date.now() - began)
      },
    })
    return [...points].flatMap(([point, afterMs], index) => {
      const delays = point.endsWith(IS_SENT) ? REQUEST_DELAYS_MS : [DELAYS_MS[index % DELAYS_MS.length] ?? 0]
      const ways: Way[] = ['held', ...delays, ...(point.endsWith(IS_ANSWERED) ? (['lost'] as const) : [])]
      return ways.map((way) => ({ kind, point, afterMs, way }))
    })
  }

  /** Kills the edge at each of these moments, those of many runs at once, and waits for the end of all. */
  async killAt(moments: readonly Moment[]): Promise<void> {
    for (const batch of batchesOf(moments)) await this.#killAll(batch)
  }

  /** Kills the edge so often at random moments amid so many runs of a kind, and waits for the end of all. */
  async killAtRandom(kind: Kind, chance: Chance, { runs, kills }: { runs: number; kills: number }): Promise<void> {
    const round = chance.between(0, 1e9)
    const endings = Array.from({ length: runs }, (_, index) =>
      this.#play(kind, `${nameOf(kind)}-r${round}-${index}`, {
        isWatched: index % 2 === 0,
        pass: async () => {
          await sleep(chance.between(0, 300))
          return chance.isHit(LOSS) ? 'lost' : undefined
        },
        chance,
      }),
    )
    for (let count = 0; count < kills; count += 1) {
      // In the middle of the work, as the edge starts again, and when the alarms come.
      await sleep(
        chance.pick([
          chance.between(100, 1500),
          chance.between(1500, 6000),
          WATCHDOG_MS + chance.between(0, SPREAD_MS),
        ]),
      )
      await this.#kill()
    }
    await Promise.all(endings)
  }

  /** What the calls of all runs came to, and how often. */
  tally(): string[] {
    const calls = [...this.#tally.values()].reduce((sum, count) => sum + count, 0)
    const words = [...this.#tally].map(([word, count]) => `${word} × ${count}`).sort()
    const sums = `${this.moments} moments, of which ${this.#missed.length} were missed`
    return [sums, `${this.runs} runs, ${this.kills} kills, ${calls} calls`, ...words]
  }

  /** Returns all faults, once the tenant has been charged for all runs. */
  async end(): Promise<string[]> {
    const missed = this.#missed.length > this.moments * MOST_MISSED ? this.#missed : []
    return [
      ...this.faults,
      ...missed.map((name) => `${name}: the run has not come there`),
      ...(await tenantFaults(this.#world, this.#tokens)),
    ]
  }

  async #killAll(moments: readonly Moment[]): Promise<void> {
    const heldRuns = moments.map((moment, index) => new HeldRun(moment, `${nameOf(moment.kind)}-${this.runs + index}`))
    const playing = heldRuns.map((run) =>
      this.#play(run.moment.kind, run.token, { isWatched: run.isWatched, pass: run.pass }),
    )
    for (const [index, run] of heldRuns.entries()) void playing[index]?.then(() => (run.hasEnded = true))
    // On a busy machine it takes long until all are there; as long as some go on, the others may.
    const isReady = () => heldRuns.every((run) => run.isThere || run.hasEnded)
    const isStill = () => Date.now() - Math.max(...heldRuns.map((run) => run.passedAt)) > PATIENCE_MS
    await until(() => isReady() || isStill(), MOST_WAIT_MS)
    this.moments += heldRuns.length
    for (const run of heldRuns) if (!run.isThere) this.#missed.push(run.name)
    const longest = Math.max(0, ...heldRuns.map(({ delayMs = 0 }) => delayMs))
    for (const { delayMs, letGo } of heldRuns) if (delayMs !== undefined) setTimeout(letGo, longest - delayMs)
    await sleep(longest)
    // What was let go just now is on its way when the edge dies.
    await setImmediate()
    await this.#kill(() => heldRuns.forEach((run) => run.letGo()))
    await Promise.all(playing)
  }

  async #kill(onDead: () => void = () => {}): Promise<void> {
    await this.#world.kill()
    onDead()
    this.kills += 1
    await this.#world.start('the same port')
  }

  async #play(
    kind: Kind,
    token: string,
    { chance = new Chance(this.#seed), ...stage }: Pick<Stage, 'isWatched' | 'pass'> & { readonly chance?: Chance },
  ): Promise<void> {
    this.runs += 1
    const ending = await kind
      .play({ world: this.#world, token, chance, ...stage })
      .catch((error: unknown): Ending => ({ faults: [`${token}: ${String(error)}`], calls: [], tokens: 0 }))
    this.faults.push(...ending.faults)
    this.#tokens += ending.tokens
    for (const word of ending.calls) this.#tally.set(word, (this.#tally.get(word) ?? 0) + 1)
  }
}

/** A run that is held at the point of a moment, the first time that it comes there. */
class HeldRun {
  readonly moment: Moment
  readonly token: string
  isThere = false
  hasEnded = false
  /** When it has come to a point last, in epoch milliseconds. */
  passedAt = Date.now()
  readonly #hold = Promise.withResolvers<void>()

  constructor(moment: Moment, token: string) {
    this.moment = moment
    this.token = token
  }

  get name(): string {
    const { kind, point, way } = this.moment
    return `${kind.name}, ${point}, ${typeof way === 'number' ? `let go ${way} ms before` : way}, ${this.token}`
  }

  get isWatched(): boolean {
    return this.moment.way !== 'held'
  }

  /** How long before the kill it is let go, in milliseconds; undefined if it is held. */
  get delayMs(): number | undefined {
    const { way } = this.moment
    return typeof way === 'number' ? way : undefined
  }

  readonly letGo = (): void => this.#hold.resolve()

  readonly pass: Stage['pass'] = async (point) => {
    this.passedAt = Date.now()
    if (point !== this.moment.point || this.isThere) return undefined
    this.isThere = true
    await this.#hold.promise
    return this.moment.way === 'lost' ? 'lost' : undefined
  }
}

/** The name of a kind as a part of ids. */
function nameOf({ name }: Kind): string {
  return name.replaceAll(' ', '-')
}

/** Moments that one kill is for: those of runs that come to their points at about the same time. */
function batchesOf(moments: readonly Moment[]): Moment[][] {
  const batches: Moment[][] = []
  for (const moment of moments.toSorted((one, other) => one.afterMs - other.afterMs)) {
    const last = batches.at(-1)
    const isNear = moment.afterMs - (last?.at(0)?.afterMs ?? -Infinity) <= MOST_APART_MS
    if (last && isNear && last.length < RUNS_A_KILL) last.push(moment)
    else batches.push([moment])
  }
  return batches
}
