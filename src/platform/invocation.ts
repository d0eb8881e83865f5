import { AsyncLocalStorage } from 'node:async_hooks'
import type { PlatformFigures, WorkersPlan } from '../contract/platform.ts'

/** What a Worker is held to, and what it is called in reports. */
export interface PlanTerms {
  readonly plan: WorkersPlan
  readonly figures: PlatformFigures
  /** The name of the Worker. */
  readonly worker: string
  /** Whether the CPU of each invocation is logged, as `platform.cpu`. Default: only what is beyond the limit. */
  readonly logsCpu?: boolean
}

/** A line of the log that says which limit was passed, and where. */
export interface PassedLimit {
  readonly event: 'platform.limit'
  readonly limit: keyof PlatformFigures
  readonly plan: WorkersPlan
  readonly worker: string
  /** The invocation, such as `POST /runs` or `Conversation.alarm`. */
  readonly where: string
  readonly detail: string
}

/** A line of the log that says how much CPU an invocation has taken, or more of it since the last one. */
export interface InvocationCpu {
  readonly event: 'platform.cpu'
  readonly worker: string
  readonly where: string
  /** Different for each invocation of the Worker. */
  readonly invocation: number
  readonly ms: number
}

/** Where code runs: the Worker, or one object of it. */
export class Place {
  readonly name: string
  /** The Dynamic Workers under way in an object, with the number of their requests. */
  readonly dynamicWorkers = new Map<string, number>()
  readonly isObject: boolean

  constructor(name: string, isObject: boolean) {
    this.name = name
    this.isObject = isObject
  }
}

/** One event that the runtime delivers: a request, a call, an alarm. It counts as long as its promises last. */
export class WorkerInvocation {
  readonly where: string
  readonly place: Place
  readonly id: number
  readonly dynamicWorkers: Map<string, number>
  /** Those who wait until a connection has its headers. */
  readonly queue: (() => void)[] = []
  readonly reportedLimits = new Set<keyof PlatformFigures>()
  subrequests = 0
  connections = 0
  cpuMs = 0
  /** How much of its CPU is in the log. */
  loggedMs = 0
  hasEnded = false

  constructor(where: string, place: Place, id: number) {
    this.where = where
    this.place = place
    this.id = id
    this.dynamicWorkers = place.isObject ? place.dynamicWorkers : new Map()
  }
}

/** The time over which what is read whole is added up, in milliseconds: until then it is hardly garbage. */
const READ_MS = 1000
/** Smaller values are not counted as memory. */
const LEAST_BYTES = 65_536
/** How many microtasks a burst of CPU is followed: what runs after an answer is some promises long. */
const MOST_HOPS = 64
const TOO_MANY_SUBREQUESTS =
  'Too many subrequests by single Worker invocation. To configure this limit, refer to https://developers.cloudflare.com/workers/wrangler/configuration/#limits'

/** Knows the invocation that runs, counts what it does, and reports what passes a limit. One for each isolate. */
export class Platform {
  readonly figures: PlatformFigures
  readonly #terms: PlanTerms
  readonly #running = new AsyncLocalStorage<WorkerInvocation>()
  #count = 0
  #reads: { readonly at: number; readonly bytes: number }[] = []
  #burst: { readonly invocation: WorkerInvocation; from: number; hops: number } | undefined

  constructor(terms: PlanTerms) {
    this.#terms = terms
    this.figures = terms.figures
  }

  get current(): WorkerInvocation | undefined {
    return this.#running.getStore()
  }

  /** Runs a handler as an invocation of its own, unless it is called by code of the same place. */
  enter<Result>(where: string, place: Place, run: () => Result): Result {
    if (this.current?.place === place) return run()
    const invocation = new WorkerInvocation(where, place, this.#count++)
    return this.#running.run(invocation, () => {
      this.resume(invocation)
      const startedAt = Date.now()
      const end = () => this.#end(invocation, startedAt)
      try {
        const result = run()
        if (isThenable(result)) result.then(end, end)
        else end()
        return result
      } catch (error) {
        end()
        throw error
      }
    })
  }

  /** Counts a subrequest. Throws, as the platform does, once there are too many. */
  countSubrequest(what: string): void {
    const invocation = this.current
    if (!invocation) return
    invocation.subrequests += 1
    const { subrequests } = this.figures
    if (invocation.subrequests <= subrequests) return
    this.report('subrequests', `${what} is more than the ${subrequests} subrequests of an invocation.`)
    throw new Error(TOO_MANY_SUBREQUESTS)
  }

  /** Makes a subrequest over a binding. Returns what it returns; rejects once there are too many. */
  call<Result>(what: string, run: () => Result): Result | Promise<never> {
    try {
      this.countSubrequest(what)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.follow(what, run())
  }

  /** Makes a subrequest that needs one of the connections, which it gives back with the headers of the answer. */
  async connect<Result>(what: string, run: () => PromiseLike<Result>): Promise<Result> {
    const invocation = this.current
    if (!invocation) return run()
    this.countSubrequest(what)
    const { connections } = this.figures
    if (invocation.connections >= connections) {
      this.report('connections', `${what} waits, since ${connections} connections wait for their headers.`)
      await new Promise<void>((resolve) => invocation.queue.push(resolve))
    } else invocation.connections += 1
    try {
      return await this.follow(what, run())
    } finally {
      // Who waits takes the connection over.
      const next = invocation.queue.shift()
      if (next) next()
      else invocation.connections -= 1
    }
  }

  /** Notes when a promise settles, what it brings, and whether it was too large. Returns it as it is. */
  follow<Result>(what: string, result: Result): Result {
    const invocation = this.current
    if (!invocation || !isThenable(result)) return result
    result.then(
      (value) => {
        this.resume(invocation)
        this.noteRead(bytesIn(value), what)
      },
      (error: unknown) => {
        this.resume(invocation)
        if (/limited to 32\s?MiB/.test(String(error))) this.report('message', `${what}: ${String(error)}`)
      },
    )
    return result
  }

  /** Adds what was read whole to the memory of the isolate, and reports if that is too much. */
  noteRead(bytes: number, what: string): void {
    if (bytes < LEAST_BYTES) return
    const now = Date.now()
    this.#reads = [...this.#reads.filter(({ at }) => now - at < READ_MS), { at: now, bytes }]
    const sum = this.#reads.reduce((sum, read) => sum + read.bytes, 0)
    if (sum > this.figures.memory)
      this.report('memory', `An estimate: ${megabytes(sum)} were read whole within a second, the last by ${what}.`)
  }

  /** Notes that the code of an invocation runs again, such as after an answer, and follows how long it computes. */
  resume(invocation: WorkerInvocation | undefined): void {
    if (!invocation) return
    const now = Date.now()
    if (this.#burst) this.#addCpu(this.#burst.invocation, now - this.#burst.from)
    const burst = { invocation, from: now, hops: 0 }
    this.#burst = burst
    const hop = () => {
      if (this.#burst !== burst) return
      const now = Date.now()
      this.#addCpu(invocation, now - burst.from)
      burst.from = now
      burst.hops += 1
      if (burst.hops < MOST_HOPS) queueMicrotask(hop)
      else this.#burst = undefined
    }
    queueMicrotask(hop)
  }

  report(limit: keyof PlatformFigures, detail: string, where = this.current?.where ?? 'its start'): void {
    const invocation = this.current
    if (invocation?.reportedLimits.has(limit)) return
    invocation?.reportedLimits.add(limit)
    const { plan, worker } = this.#terms
    console.log(JSON.stringify({ event: 'platform.limit', limit, plan, worker, where, detail } satisfies PassedLimit))
  }

  #addCpu(invocation: WorkerInvocation, ms: number): void {
    invocation.cpuMs += ms
    if (invocation.hasEnded && ms > 0) this.#judgeCpu(invocation)
  }

  #end(invocation: WorkerInvocation, startedAt: number): void {
    // The last burst ends with it.
    this.resume(invocation)
    invocation.hasEnded = true
    this.#judgeCpu(invocation)
    const { alarmTime } = this.figures
    const minutes = Math.round((Date.now() - startedAt) / 60_000)
    if (invocation.where.endsWith('.alarm') && Date.now() - startedAt > alarmTime)
      this.report('alarmTime', `The alarm has taken ${minutes} minutes.`)
  }

  #judgeCpu(invocation: WorkerInvocation): void {
    const { cpuMs: ms, where, id } = invocation
    const { cpu } = this.figures
    if (this.#terms.logsCpu && ms > invocation.loggedMs) {
      const { worker } = this.#terms
      const line = { event: 'platform.cpu', worker, where, invocation: id, ms: ms - invocation.loggedMs } as const
      invocation.loggedMs = ms
      console.log(JSON.stringify(line satisfies InvocationCpu))
    }
    if (ms <= cpu || invocation.reportedLimits.has('cpu')) return
    const detail = `An estimate: it has computed for ${ms} ms, and ${cpu} ms are allowed.`
    this.#running.run(invocation, () => this.report('cpu', detail))
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  // A stub of the runtime is a function.
  return (typeof value === 'object' || typeof value === 'function') && typeof Object(value).then === 'function'
}

/** Calls a method of what the runtime gives, whose classes have no types here. */
export function callMethod(target: object, name: string, args: readonly unknown[]): unknown {
  const method: unknown = Reflect.get(target, name, target)
  if (typeof method !== 'function') throw new TypeError(`There is no method ${name}.`)
  return Reflect.apply(method, target, args)
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 100_000) / 10} MB`
}

/** Returns how many bytes the texts and bytes in a value have, about. */
export function bytesIn(value: unknown): number {
  const visited = new Set<object>()
  const pending: unknown[] = [value]
  let size = 0
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next === 'string') size += next.length
    else if (next instanceof ArrayBuffer || ArrayBuffer.isView(next)) size += next.byteLength
    else if (typeof next === 'object' && next !== null && !visited.has(next)) {
      visited.add(next)
      if (next instanceof Map) pending.push(...next.keys(), ...next.values())
      else if (Array.isArray(next) || next instanceof Set) for (const each of next) pending.push(each)
      else if (Object.getPrototypeOf(next) === Object.prototype)
        for (const each of Object.values(next)) pending.push(each)
    }
  }
  return size
}
