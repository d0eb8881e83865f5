import { setTimeout as sleep } from 'node:timers/promises'
import { conversation, type Frame } from './client.ts'

const AGAIN_MS = 50

/** A reader of one run, who reads on after the last event that it saw whenever it comes again. */
export class Follower {
  /** Everything that it saw, in the order in which it saw it. */
  readonly frames: Frame[] = []
  /** How often its stream ended in good order before the run had. */
  early = 0
  readonly #conversation: string
  readonly #run: string
  #reading: Promise<void> | undefined

  constructor(conversation: string, run: string) {
    this.#conversation = conversation
    this.#run = run
  }

  get hasSeenEnd(): boolean {
    return this.frames.at(-1)?.type === 'run.finished'
  }

  /** Reads until the stream ends or breaks; who asks meanwhile waits for that. */
  read(url: string): Promise<void> {
    this.#reading ??= this.#read(url).finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #read(url: string): Promise<void> {
    try {
      const events = conversation(url, this.#conversation).events(this.#run, this.frames.at(-1)?.id)
      for await (const frame of events) this.frames.push(frame)
      if (!this.hasSeenEnd) this.early += 1
    } catch {
      // The edge was killed.
    }
  }

  /** Reads until the run has ended, and comes again whenever the stream ends before. `url` is where the edge is now. */
  async follow(url: () => string | undefined): Promise<void> {
    while (!this.hasSeenEnd) {
      const at = url()
      if (at) await this.read(at)
      // A reader who waits in vain keeps no process up.
      if (!this.hasSeenEnd) await sleep(AGAIN_MS, undefined, { ref: false })
    }
  }
}
