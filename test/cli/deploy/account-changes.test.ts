import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Terminal } from '../../../src/cli/command/terminal.ts'
import { readTargets } from '../../../src/cli/check/target.ts'
import { openAccount } from '../../../src/cli/deploy/account-api.ts'
import { deploy } from '../../../src/cli/deploy/deploy.ts'
import type { DeployOptions } from '../../../src/cli/deploy/options.ts'
import { planOf } from '../../../src/cli/deploy/plan.ts'
import type {
  DeployAttempt,
  DeployedWorker,
  DeployRecord,
  Manifest,
  StorageMark,
} from '../../../src/cli/deploy/record.ts'
import { rollback } from '../../../src/cli/deploy/rollback.ts'
import { drift } from '../../../src/cli/doctor/doctor.ts'
import { Failure } from '../../../src/cli/failure.ts'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import { type Account, startAccount } from '../../fixtures/account/account.ts'
import { makeProject, PROJECT, type ProjectFolder } from '../../fixtures/account/project.ts'
import type { Binding, Version } from '../../fixtures/account/state.ts'

const AT = '2026-11-23T00:00:00Z'
const DEFINITION = { 'tools/definitions/hours.json': '{ "name": "hours", "static": "nine to five" }\n' }

/** An account to which a project was deployed, as `deploy` leaves it. Its Workers count as built and started. */
interface Deployed {
  readonly account: Account
  readonly project: ProjectFolder
  readonly manifest: Manifest
  readonly record: () => DeployRecord | undefined
  readonly setRecord: (record: DeployRecord) => void
  /** Puts a version live, as somebody does by hand. */
  readonly put: (worker: string, version: Partial<Version>) => Version
  /** Deploys. Returns what it printed, or why it failed. */
  readonly deploy: (options?: Partial<DeployOptions> & { readonly answer?: boolean }) => Promise<string>
  readonly rollback: (force?: boolean) => Promise<string>
}

async function deployed(files: Readonly<Record<string, string>> = {}): Promise<Deployed> {
  const account = await startAccount()
  const project = makeProject({ ...DEFINITION, ...files })
  // Without a wrangler, what would upload something fails at once.
  rmSync(join(project.root, 'node_modules'))
  onTestFinished(() => {
    account.close()
    project.remove()
  })
  const { state } = account
  const put = (worker: string, changes: Partial<Version>): Version => {
    const id = state.nextId()
    const version: Version = { id, tag: '', message: '', bindings: [], modules: {}, mainModule: '', ...changes }
    const script = state.scripts.get(worker) ?? { versions: [], deployments: [], workersDev: false }
    state.scripts.set(worker, script)
    script.versions.push(version)
    script.deployments.push({ id, versions: [{ version_id: id, percentage: 100 }] })
    return version
  }
  const workers = ['acme-one', 'acme-two', 'acme'].map((name): DeployedWorker => {
    const bindings: Binding[] =
      name === 'acme' ? [{ type: 'kv_namespace', name: 'TOOLS', namespace_id: 'a'.repeat(32) }] : []
    const { id: version } = put(name, { message: 'edgecall p1 m1', bindings })
    const role = name === 'acme' ? 'edge' : 'tool'
    return { name, role, version, hash: `hash of ${name}`, size: 1, gzip: 1, tools: [] }
  })
  const manifest: Manifest = { id: 'm1', at: AT, environment: 'production', workers, definitions: [] }
  state.namespaces.push({ id: 'a'.repeat(32), title: 'acme-tools', values: new Map() })
  const values = new Map<string, string>()
  state.namespaces.push({ id: 'b'.repeat(32), title: 'acme-deployments', values })
  const setRecord = (record: DeployRecord) => void values.set('deployments', JSON.stringify(record))
  setRecord({ format: 1, project: 'p1', previous: [], current: manifest })
  const env = { PATH: process.env['PATH'], ...account.env }
  const outputOf = async (work: (terminal: Terminal) => Promise<void>, answer?: boolean) => {
    let output = ''
    const terminal: Terminal = {
      isJson: false,
      print: (text) => void (output += text),
      emit: () => {},
      askSecret: async (question, hint) => {
        throw new Failure(question, hint)
      },
      confirm: async (question, hint) => {
        if (answer === undefined) throw new Failure(question, hint)
        return answer
      },
    }
    try {
      await work(terminal)
      return output
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return `${output}${error.message}\n${error.hint}`.trim()
    }
  }
  return {
    account,
    project,
    manifest,
    put,
    setRecord,
    record: () => {
      const text = state.namespaces.find(({ title }) => title === 'acme-deployments')?.values.get('deployments')
      return text === undefined ? undefined : JSON.parse(text)
    },
    deploy: ({ answer, ...options } = {}) =>
      outputOf(
        (terminal) =>
          deploy({
            ...{ root: project.root, env, terminal, signal: new AbortController().signal, dryRun: false },
            ...{ environment: 'production', resume: false, force: false },
            ...{ allowBreak: [], allowStandIn: [], allowShared: [], adopt: [] },
            bundle: async (target) => {
              const hash = `hash of ${target.name}`
              return { target, folder: '', config: '', hash, size: 1, gzip: 1 }
            },
            start: async () => ({ ok: true, descriptions: new Map(), missing: new Map() }),
            ...options,
          }),
        answer,
      ),
    rollback: (force = false) =>
      outputOf((terminal) => rollback({ root: project.root, env, terminal, environment: 'production', force })),
  }
}

describe('deploy of another environment', () => {
  const kv = '\n[[kv_namespaces]]\nbinding = "TOOLS"\nid = "aaaa"\n'
  const cron = '\n[triggers]\ncrons = ["0 3 * * *"]\n'

  test('refuses what it would share with production, and writes nothing', async () => {
    const { account, deploy: run } = await deployed({ 'wrangler.toml': `${PROJECT['wrangler.toml']}${cron}` })
    const before = account.writes.length
    const refusal =
      "wrangler.toml: staging would share the cron trigger 0 3 * * * with production. Write one of its own into [env.staging], or share it on purpose with --allow-shared '0 3 * * *'."
    expect(await run({ environment: 'staging' })).toBe(refusal)
    expect(await run({ environment: 'staging', dryRun: true })).toBe(refusal)
    expect(await run({ environment: 'staging', dryRun: true, allowShared: ['0 3 * * *'] })).not.toContain('share')
    expect(await run({ dryRun: true })).not.toContain('share')
    expect(account.writes.slice(before)).toEqual([])
  })

  test('refuses a namespace of production to which an earlier deployment has bound it', async () => {
    const { account, put, deploy: run } = await deployed({ 'wrangler.toml': `${PROJECT['wrangler.toml']}${kv}` })
    account.state.namespaces.push({ id: 'aaaa', title: 'acme-tools', values: new Map() })
    const bindings: Binding[] = [{ type: 'kv_namespace', name: 'TOOLS', namespace_id: 'aaaa' }]
    put('acme-staging', { message: 'edgecall p1 m1', bindings })
    const before = account.writes.length
    expect(await run({ environment: 'staging', force: true })).toContain(
      'wrangler.toml: TOOLS of acme-staging is bound to the KV namespace aaaa of production since an earlier deployment. Create one of its own and set its id in a section of this environment, or share it on purpose with --allow-shared aaaa.',
    )
    expect(account.writes.slice(before)).toEqual([])
  })
})

describe('deploy compares what Workers are bound to with the account', () => {
  test('and refuses if a KV namespace is gone that the live edge is bound to', async () => {
    const kv = '\n[[kv_namespaces]]\nbinding = "TOOLS"\n'
    const { account, deploy: run } = await deployed({ 'wrangler.toml': `${PROJECT['wrangler.toml']}${kv}` })
    expect(await run()).toContain('acme: unchanged, version ')
    account.state.namespaces.splice(0, 1)
    const before = account.writes.length
    expect(await run()).toBe(
      `wrangler.toml: TOOLS of acme is bound to the KV namespace ${'a'.repeat(32)}, which the account does not have. Create one with npx wrangler kv namespace create acme-tools, and set its id in that stanza.`,
    )
    expect(account.writes.slice(before)).toEqual([])
  })

  test('and refuses if a configuration names a D1 database that the account does not have', async () => {
    const d1 = '\n[[d1_databases]]\nbinding = "DB"\ndatabase_name = "orders"\ndatabase_id = "d1-of-elsewhere"\n'
    const { account, deploy: run } = await deployed({
      'tools/one/wrangler.toml': `${PROJECT['tools/one/wrangler.toml']}${d1}`,
    })
    expect(await run()).toBe(
      'tools/one/wrangler.toml: DB of acme-one is bound to the D1 database d1-of-elsewhere, which the account does not have. Create one with npx wrangler d1 create acme-one-db, and set its database_id in that stanza.',
    )
    expect(account.writes).toEqual([])
    account.state.databases.add('d1-of-elsewhere')
    expect(await run()).toContain('acme-one: unchanged, version ')
  })
})

describe('a version that somebody else has put live', () => {
  const questionOf = (version: string) =>
    `acme-one: the account runs version ${version} of test@example.com at 2026-11-23T00:00:00Z, which this project did not deploy.`

  test('is replaced only if a person or --force says so', async () => {
    const { account, deploy: run, put } = await deployed()
    const question = questionOf(put('acme-one', { message: 'by hand' }).id)
    expect(await run()).toBe(`${question} Replace it?\nAnswer at a terminal, or deploy with --force.`)
    expect(await run({ answer: false })).toBe(`Nothing was deployed.\n${question}`)
    expect(account.writes).toEqual([])
    expect(await run({ force: true })).toMatch(/ It is replaced\.\nwrangler is not installed in this project\./)
  })

  test('is no such version if only a secret was set, and the record keeps up with it', async () => {
    const { deploy: run, put, record, manifest } = await deployed()
    const recorded = manifest.workers[2]?.version ?? ''
    const { id } = put('acme', { trigger: 'secret', etag: recorded, bindings: [{ type: 'secret_text', name: 'KEY' }] })
    expect(await run()).toContain(`acme: unchanged, version ${id}\n`)
    expect(record()?.current?.workers.map(({ version }) => version)).toEqual([
      ...manifest.workers.slice(0, 2).map(({ version }) => version),
      id,
    ])
    expect(record()?.previous).toEqual([])
  })
})

describe('a record of deployments that is lost', () => {
  test('is begun again only if a person or --force says so', async () => {
    const { account, deploy: run, record } = await deployed()
    account.state.namespaces.splice(1, 1)
    const text =
      'The record of deployments (the KV namespace acme-deployments) is gone, although this project has deployed acme. Without it, no earlier deployment can be restored, and the tools are not compared with those that are live.'
    expect(await run()).toBe(`${text} Begin a new one?\nAnswer at a terminal, or deploy with --force.`)
    expect(await run({ only: 'definitions' })).toContain(text)
    expect(account.writes).toEqual([])
    expect(record()).toBeUndefined()
  })
})

describe('rollback', () => {
  test('passes over deployments that changed nothing, those of an older record too', async () => {
    const { deploy: run, rollback: back, setRecord, record, manifest } = await deployed()
    const [first, ...rest] = manifest.workers
    if (!first) throw new Error('no worker')
    const older: Manifest = { ...manifest, id: 'm0', workers: [{ ...first, hash: 'older', version: 'gone' }, ...rest] }
    setRecord({ format: 1, project: 'p1', previous: [{ ...manifest, id: 'm1a' }, older], current: manifest })
    await run()
    expect(record()?.previous.map(({ id }) => id)).toEqual(['m1a', 'm0'])
    // The stand-in has no such version, so that the goal shows in the message and in the record.
    expect(await back()).toContain('Some Workers may not be restored yet.')
    expect(record()?.attempt).toMatchObject({ kind: 'rollback', manifest: 'm0' })
  })

  /** The record of a deployment after one whose edge had another mark, which is not live any more. */
  function marked({ manifest, setRecord }: Deployed, before: StorageMark, now: StorageMark): void {
    const [one, two, edge] = manifest.workers
    if (!one || !two || !edge) throw new Error('no workers')
    const previous = {
      ...manifest,
      id: 'm0',
      workers: [one, two, { ...edge, hash: 'older', version: 'gone', ...before }],
    }
    setRecord({
      ...{ format: 1, project: 'p1', previous: [previous] },
      current: { ...manifest, workers: [one, two, { ...edge, ...now }] },
    })
  }

  test('refuses to restore what cannot read what was stored since, unless it is forced', async () => {
    const world = await deployed()
    marked(world, {}, { storage: 2 })
    expect(await world.rollback()).toBe(
      'acme cannot be rolled back: the earlier version cannot read what was stored since. CHANGELOG.md of edgecall says what has changed.\nCorrect what is wrong and run `npx node src/cli/main.ts deploy`. To restore it all the same, although its objects may fail: `npx node src/cli/main.ts rollback --force`.',
    )
    expect(world.account.writes).toEqual([])
    expect(world.record()?.attempt).toBeUndefined()
    // The stand-in has no such version, so that it gets as far as that.
    expect(await world.rollback(true)).toContain('Some Workers may not be restored yet.')
    // What was forced is finished without being forced again.
    expect(await world.rollback()).toContain('Some Workers may not be restored yet.')
  })

  test.each([
    [
      { storage: 1, migration: 'v3' },
      { storage: 1, migration: 'v3' },
    ],
    [{ storage: 2 }, { storage: 1 }],
    [{}, { storage: 1, migration: 'v3' }],
  ])('restores a version with the mark %j after one with %j', async (before, now) => {
    const world = await deployed()
    marked(world, before, now)
    expect(await world.rollback()).toContain('Some Workers may not be restored yet.')
  })

  test('changes nothing if Cloudflare would refuse it, since objects were migrated meanwhile', async () => {
    const world = await deployed()
    marked(world, { storage: 1, migration: 'v2' }, { storage: 1, migration: 'v3' })
    const text =
      'acme cannot be rolled back: its Durable Objects were migrated since (v3), and Cloudflare restores no version from before that.\nTake the earlier sources, keep the [[migrations]] of today in them, and run `npx node src/cli/main.ts deploy`.'
    for (const force of [false, true]) expect(await world.rollback(force)).toBe(text)
    expect(world.account.writes).toEqual([])
  })

  test('refuses it also after a gradual deployment has stored something', async () => {
    const { manifest, setRecord, put, rollback: back } = await deployed()
    const workers = manifest.workers.map((worker) => {
      const rollout = { version: 'v2', hash: 'newer', percent: 10, storage: 2 }
      return worker.name === 'acme' ? { ...worker, rollout } : worker
    })
    setRecord({
      ...{ format: 1, project: 'p1', previous: [{ ...manifest, id: 'm0' }] },
      current: { ...manifest, workers },
    })
    put('acme', { id: 'v2', message: 'edgecall p1 m1' })
    expect(await back()).toContain('acme cannot be rolled back')
  })

  test('refuses it also after an unfinished deployment, if that has put the Worker live', async () => {
    const { manifest, setRecord, put, rollback: back, record } = await deployed()
    const attempt = (id: string): DeployAttempt => ({
      ...{ kind: 'deploy', id, at: AT, workers: {}, live: [], writes: [], definitions: [] },
      marks: { acme: { storage: 2 } },
    })
    setRecord({ format: 1, project: 'p1', previous: [], current: manifest, attempt: attempt('m2') })
    expect(await back()).toContain('acme')
    expect(record()?.attempt).toBeUndefined()
    setRecord({ format: 1, project: 'p1', previous: [], current: manifest, attempt: attempt('m3') })
    put('acme', { message: 'edgecall p1 m3' })
    expect(await back()).toContain('acme cannot be rolled back')
  })

  test('says that there is nothing to restore if all recorded deployments are the same', async () => {
    const { rollback: back, setRecord, manifest, account } = await deployed()
    setRecord({ format: 1, project: 'p1', previous: [{ ...manifest, id: 'm0' }], current: manifest })
    expect(await back()).toContain('There is no earlier deployment to restore.')
    expect(account.writes).toEqual([])
  })
})

describe('deploy --continue', () => {
  const TOOL: ToolDefinition = {
    ...{ name: 'one', description: 'Does one.', inputSchema: { type: 'object' } },
    ...{ version: '1', hash: 'one', annotations: {} },
  }

  /** A deployment of acme-two that takes the tool away from acme-one, and has stopped before the edge. */
  async function stopped(attempt: Partial<DeployRecord['attempt']> = {}) {
    const world = await deployed()
    const { manifest, setRecord, record, put } = world
    const workers = manifest.workers.map((worker, at) => ({ ...worker, tools: at === 0 ? [TOOL] : [] }))
    const { id } = put('acme-two', { message: 'edgecall p1 m2' })
    const live = {
      ...workers[1],
      name: 'acme-two',
      role: 'tool',
      version: id,
      hash: 'hash of acme-two',
      size: 1,
      gzip: 1,
      tools: [],
    } as const
    setRecord({
      ...{ format: 1, project: 'p1', previous: [], current: { ...manifest, workers } },
      attempt: {
        ...{ kind: 'deploy', id: 'm2', at: AT, writes: [], definitions: [], live: [live] },
        workers: Object.fromEntries(workers.map(({ name, hash }) => [name, hash])),
        ...attempt,
      },
    })
    const descriptions = new Map(workers.map(({ name }) => [name, []]))
    return { ...world, record, start: async () => ({ ok: true as const, descriptions, missing: new Map() }) }
  }

  test('needs none of the options again with which the deployment was begun', async () => {
    const { deploy: run, record, start } = await stopped()
    expect(await run({ start })).toContain('The tool one would break its callers: it is gone.')
    expect(await run({ start, resume: true })).toContain('acme-two: unchanged, version ')
    expect(record()?.attempt).toBeUndefined()
    expect(record()?.current?.id).toBe('m2')
  })

  test('deploys what was begun with --only and no more', async () => {
    const {
      deploy: run,
      record,
      start,
    } = await stopped({
      only: 'acme-two',
      workers: { 'acme-two': 'hash of acme-two' },
    })
    const output = await run({ start, resume: true })
    expect(output).toContain('acme-two: unchanged')
    expect(output).not.toContain('acme-one: unchanged')
    expect(record()?.attempt).toBeUndefined()
  })

  test('is what doctor advises about it: none of its versions counts as that of somebody else', async () => {
    const { project, account, record } = await stopped()
    const { root } = project
    const { targets } = await readTargets({ root, environment: 'production' })
    const bundles = targets.map((target) => {
      return { target, folder: '', config: '', hash: `hash of ${target.name}`, size: 1, gzip: 1 }
    })
    const [edge, found] = [targets.at(-1), record()]
    if (!edge || !found) throw new Error('nothing is deployed')
    const api = await openAccount({ root, env: account.env })
    const steps = await planOf(api, { bundles, record: found, project: 'p1' })
    const findings = drift({ record: found, steps, definitions: [], edge })
    expect(findings.map(({ message }) => message)).toEqual([`A deploy was begun at ${AT} and is not finished.`])
  })

  test('asks for the file of secrets again, whose values are recorded nowhere', async () => {
    const { deploy: run, start } = await stopped({ live: [], secrets: { 'acme-one': ['TOKEN'] } })
    expect(await run({ start, resume: true })).toBe(
      'The deployment sets the secret TOKEN of acme-one, and its value is not recorded.\nContinue with --secrets <file> too.',
    )
  })
})
