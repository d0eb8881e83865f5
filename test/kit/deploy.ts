/**
 * `edgecall deploy` against a stand-in account, with real wrangler. Each write of a deployment fails, in two ways, and
 * each time the record must agree with the account, and both `deploy --continue` and `rollback` must lead to a
 * deployment that is whole.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startBundles } from '../../src/cli/check/describe.ts'
import type { Terminal } from '../../src/cli/command/terminal.ts'
import { type Bundle, makeBundle } from '../../src/cli/deploy/bundle.ts'
import { deploy } from '../../src/cli/deploy/deploy.ts'
import type { DeployOptions } from '../../src/cli/deploy/options.ts'
import type { DeployRecord, Manifest } from '../../src/cli/deploy/record.ts'
import { rollback } from '../../src/cli/deploy/rollback.ts'
import { Failure } from '../../src/cli/failure.ts'
import { type Account, type Fault, startAccount } from '../fixtures/account/account.ts'
import { type EdgeStandIn, startEdge } from '../fixtures/account/edge.ts'
import { makeProject, type ProjectFolder, toolModule } from '../fixtures/account/project.ts'

/** An account with two versions of one project to deploy to it. */
export interface World {
  readonly account: Account
  readonly edge: EdgeStandIn
  /** The project as it was deployed first, and as it is deployed when writes fail. */
  readonly first: ProjectFolder
  readonly second: ProjectFolder
  optionsOf(project: ProjectFolder): DeployOptions
  close(): void
}

/** Makes an empty account. Close it at the end. */
export async function makeWorld(): Promise<World> {
  const account = await startAccount()
  const edge = await startEdge(account.state, 'acme')
  const first = makeProject()
  const second = makeProject({
    'tools/one/index.js': toolModule('one', { note: 'second' }),
    'index.js': 'export default { fetch: () => new Response("second") }\n',
    'tools/definitions/hours.json': '{ "name": "hours", "static": "ten to six" }\n',
    'tools/definitions/days.json': '{ "name": "days", "static": "every day" }\n',
  })
  const home = mkdtempSync(join(tmpdir(), 'edgecall-home-'))
  const env = { PATH: process.env['PATH'], HOME: home, ...account.env, EDGECALL_URL: edge.url, EDGECALL_KEY: edge.key }
  const signal = new AbortController().signal
  const parts = builtOnce()
  return {
    account,
    edge,
    first,
    second,
    optionsOf: ({ root }) => ({
      root,
      env,
      terminal: silent,
      signal,
      dryRun: false,
      environment: 'production',
      resume: false,
      force: false,
      allowBreak: [],
      allowStandIn: [],
      allowShared: [],
      adopt: [],
      ...parts,
    }),
    close: () => {
      first.remove()
      second.remove()
      account.close()
      edge.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

const silent: Terminal = {
  isJson: false,
  print: () => {},
  emit: () => {},
  confirm: async (question, hint) => {
    throw new Failure(question, hint)
  },
  askSecret: async (question, hint) => {
    throw new Failure(question, hint)
  },
}

/** Builds and starts each project once: the sources of neither change. */
function builtOnce(): Pick<DeployOptions, 'bundle' | 'start'> {
  const bundles = new Map<string, Promise<Bundle>>()
  const started = new Map<string, ReturnType<typeof startBundles>>()
  const once = <T>(map: Map<string, T>, key: string, make: () => T): T => {
    const value = map.get(key) ?? make()
    map.set(key, value)
    return value
  }
  return {
    bundle: (target, options) => once(bundles, `${options.root} ${target.name}`, () => makeBundle(target, options)),
    start: (all) => once(started, all.map(({ hash }) => hash).join(), () => startBundles(all)),
  }
}

export function recordOf({ account: { state } }: World): DeployRecord {
  const text = state.namespaces.find(({ title }) => title === 'acme-deployments')?.values.get('deployments')
  return JSON.parse(text ?? '{}')
}

/** Returns the ids of the live versions, by Worker. */
function liveOf({ account }: World): Record<string, string> {
  const live = Object.entries(account.state.live())
  return Object.fromEntries(live.map(([name, versions]) => [name, versions.map(({ id }) => id).join()]))
}

function versionsOf({ workers }: Pick<Manifest, 'workers'>): Record<string, string> {
  return Object.fromEntries(workers.map(({ name, version }) => [name, version]))
}

function definitionsOf(world: World): Record<string, unknown> {
  return Object.fromEntries(world.edge.stored)
}

/** Deploys the second project with writes failing from one on. Returns the Failure, or undefined if it went through. */
async function attempt(world: World, number: number, fault: Fault): Promise<Failure | undefined> {
  world.account.failFrom(number, fault)
  try {
    await deploy(world.optionsOf(world.second))
    return undefined
  } catch (error) {
    assert.ok(error instanceof Failure, String(error))
    return error
  } finally {
    world.account.mend()
  }
}

/** Checks what a stopped deployment left: the record says what is live, and the advice can be followed. */
function checkStopped(world: World, { failure, before }: { failure: Failure; before: Manifest }): void {
  const { current, attempt: begun } = recordOf(world)
  assert.equal(current?.id, before.id, 'the record keeps the manifest that a rollback restores')
  const live = liveOf(world)
  for (const { name, version } of begun?.live ?? []) assert.equal(live[name], version, `${name} is live as recorded`)
  const advice = / deploy --continue[^]* rollback/.test(failure.hint)
  assert.equal(advice, begun !== undefined, `the advice is that of the record: ${failure.message} ${failure.hint}`)
}

function checkFinished(world: World, hashes: Readonly<Record<string, string>>): void {
  const { current, attempt: begun } = recordOf(world)
  assert.ok(current)
  assert.equal(begun, undefined)
  assert.deepEqual(liveOf(world), versionsOf(current))
  const recorded = Object.fromEntries(current.workers.map(({ name, hash }) => [name, hash]))
  assert.deepEqual(recorded, hashes)
  assert.deepEqual(Object.keys(definitionsOf(world)).sort(), current.definitions.map(({ name }) => name).sort())
}

/** Runs all of it. Returns how many failures were tried. */
export async function checkDeploy(): Promise<number> {
  const world = await makeWorld()
  try {
    await deploy(world.optionsOf(world.first))
    const before = recordOf(world).current
    assert.ok(before)
    const definitions = definitionsOf(world)
    assert.deepEqual(definitions, { hours: { name: 'hours', static: 'nine to five' } })
    const deployed = world.account.state.save()
    const storedBefore = world.edge.save()

    const writes = world.account.writes.length
    await deploy(world.optionsOf(world.second))
    const hashes = Object.fromEntries(recordOf(world).current?.workers.map(({ name, hash }) => [name, hash]) ?? [])
    checkFinished(world, hashes)
    const total = world.account.writes.length - writes
    assert.ok(total >= 10, `a deployment takes ${total} writes`)

    let attempts = 0
    for (const fault of ['refused', 'lost'] as const) {
      for (let number = 0; number < total; number++) {
        world.account.state.load(deployed)
        world.edge.load(storedBefore)
        const failure = await attempt(world, number, fault)
        if (!failure) {
          checkFinished(world, hashes)
          continue
        }
        attempts += 1
        checkStopped(world, { failure, before })
        const isBegun = recordOf(world).attempt !== undefined
        const stopped = world.account.state.save()
        const storedStopped = world.edge.save()

        await deploy({ ...world.optionsOf(world.second), resume: isBegun })
        checkFinished(world, hashes)

        world.account.state.load(stopped)
        world.edge.load(storedStopped)
        if (!isBegun) continue
        const { root, env, terminal, environment } = world.optionsOf(world.second)
        await rollback({ root, env, terminal, environment, force: false })
        assert.equal(recordOf(world).current?.id, before.id)
        assert.equal(recordOf(world).attempt, undefined)
        assert.deepEqual(liveOf(world), versionsOf(before))
        assert.deepEqual(definitionsOf(world), definitions)
      }
    }
    return attempts
  } finally {
    world.close()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const began = Date.now()
  console.log(`${await checkDeploy()} failures tried in ${Math.round((Date.now() - began) / 1000)} s`)
  process.exit()
}
