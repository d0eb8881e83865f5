import { fullSurfaces } from '../fixtures/everything.ts'
import { DatabaseSync } from 'node:sqlite'
import type { ConversationService, Objects } from '../../src/contract/conversation.ts'
import type { DirectoryService, RunShard } from '../../src/contract/directory.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import type { Setup } from '../../src/contract/setup.ts'
import { backUpConversation } from '../../src/conversation/backup/backup.ts'
import { conversation } from '../../src/conversation/conversation.ts'
import { dividedDirectories, shardedRuns } from '../../src/edge/directories.ts'
import { edge } from '../../src/http/app/edge.ts'
import { metricsReporter } from '../../src/observe/run-report.ts'
import { type Script, scripted } from '../fixtures/scripted.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { FEATURES, testSetup, type TestSetup } from '../fixtures/setup.ts'
import { settle } from '../fixtures/settle.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'

export interface KeptEdge {
  /** What the model was sent. */
  readonly requests: readonly ModelRequest[]
  /** The objects by name, after their jurisdiction if they are in one: `eu: v1/acme/eu__a`. */
  readonly objects: ReadonlyMap<string, ConversationService>
  /** The regions that were asked for when the objects were created, by the same names. */
  readonly locations: ReadonlyMap<string, string>
  readonly directories: Objects<DirectoryService>
  /** The objects that the directories are divided among. */
  readonly directoryObjects: Objects<DirectoryService & RunShard>
  readonly setup: Setup
  /** Lets the alarms of all objects ring, and what goes on after answers come to its end. */
  readonly settle: () => Promise<void>
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  readonly post: (path: string, json: unknown, headers?: Record<string, string>) => Promise<Response>
}

/**
 * An edge in plain Node with real conversations, over databases in memory. The script is played across all runs. With
 * `listsRuns`, runs are reported to the directories of their tenants.
 */
export function keptEdge({
  script,
  setup: others = {},
  listsRuns = false,
  hints,
  ...parts
}: {
  script: readonly Script[]
  /** The members of vendors that the model takes. */
  hints?: readonly string[]
  listsRuns?: boolean
  setup?: Partial<Setup>
} & Omit<TestSetup, 'others'>): KeptEdge {
  const objects = new Map<string, ReturnType<typeof makeObject>>()
  const locations = new Map<string, string>()
  const afterwards: Promise<unknown>[] = []
  const model = scripted(script, 'test/scripted')
  const base = testSetup(hints ? { ...model, hints } : model, parts)
  const { directoryShards } = base.config
  const directoryObjects = memoryDirectories()
  const directories = dividedDirectories(directoryObjects, directoryShards)
  const runDirectories = shardedRuns(directoryObjects, directoryShards)
  const setup: Setup = {
    ...base,
    conversations: objectsIn(''),
    directories,
    backups: backUpConversation,
    ...(listsRuns && { runDirectories }),
    ...others,
    loop: { ...FEATURES, ...others.loop },
    ...(listsRuns && { reporters: [metricsReporter(runDirectories), ...(others.reporters ?? [])] }),
  }
  function objectsIn(place: string): Setup['conversations'] {
    return {
      getByName: (name, { locationHint } = {}) => {
        const id = `${place}${name}`
        const object = objects.get(id) ?? makeObject(setup, ctx)
        if (!objects.has(id) && locationHint) locations.set(id, locationHint)
        objects.set(id, object)
        return object
      },
      jurisdiction: (jurisdiction) => objectsIn(`${jurisdiction}: `),
    }
  }
  const app = edge(() => setup, fullSurfaces)
  const ctx = { waitUntil: (work: Promise<unknown>) => void afterwards.push(work) }
  const send = async (input: string | URL | Request, init?: RequestInit) =>
    app.fetch(new Request(input instanceof Request ? input : new URL(input, 'http://127.0.0.1:8787'), init), {}, ctx)
  return {
    requests: model.requests,
    objects,
    directories,
    locations,
    directoryObjects,
    setup,
    settle: async () => {
      for (const object of objects.values()) {
        // An alarm stays while a run is under way.
        await Promise.race([object.alarm(), settle()])
      }
      await Promise.all(afterwards)
    },
    fetch: send,
    post: (path, json, headers) =>
      send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(json),
      }),
  }
}

/** A conversation's object, as the platform makes it; nothing wakes it. */
function makeObject(
  setup: Setup,
  { waitUntil }: { readonly waitUntil: (work: Promise<unknown>) => void },
): ConversationService & { alarm(): Promise<void> } {
  const storage = Object.assign(memoryStorage(new DatabaseSync(':memory:')), { setAlarm: async () => {} })
  const ctx = { storage, waitUntil } as unknown as DurableObjectState
  const Conversation = conversation(() => setup)
  return Object.assign(new Conversation(ctx, {}), { ctx })
}

/** What the frames of a stream hold; `[DONE]` as it is. */
export function dataOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length))
    .map((data): unknown => (data === '[DONE]' ? data : JSON.parse(data)))
}
