/** `edgecall deploy --gradual` and `--adopt` against a stand-in account, with real wrangler. */
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'
import { deploy } from '../../src/cli/deploy/deploy.ts'
import { rollback } from '../../src/cli/deploy/rollback.ts'
import { Failure } from '../../src/cli/failure.ts'
import { toolModule } from '../fixtures/account/project.ts'
import { makeWorld, recordOf, type World } from './deploy.ts'

/** Returns the percentage of each live version of a Worker, the version of the last deployment as `old`. */
function sharesOf({ account }: World, worker: string, old: string): Record<string, number> {
  const { deployments = [] } = account.state.scripts.get(worker) ?? {}
  const shares = deployments.at(-1)?.versions ?? []
  return Object.fromEntries(shares.map((share) => [share.version_id === old ? 'old' : 'new', share.percentage]))
}

function versionOf(world: World, worker: string): string {
  return recordOf(world).current?.workers.find(({ name }) => name === worker)?.version ?? ''
}

/** Rolls out one tool Worker: 10 %, 50 %, all; then once more, and back half-way. */
export async function checkRollOut(): Promise<void> {
  const world = await makeWorld()
  try {
    const { first } = world
    const roll = (gradual: number) => deploy({ ...world.optionsOf(first), only: 'acme-one', gradual })
    await assert.rejects(roll(10), /acme-one has no earlier version/)
    await deploy(world.optionsOf(first))
    await assert.rejects(roll(10), /acme-one has not changed since it was deployed/)
    const old = versionOf(world, 'acme-one')

    // The bundles of `optionsOf` are built once; this one has changed.
    const { bundle: _bundle, start: _start, ...options } = world.optionsOf(first)
    const rollChanged = (gradual: number) => deploy({ ...options, only: 'acme-one', gradual })
    first.write('tools/one/index.js', toolModule('one', { note: 'second' }))
    await rollChanged(10)
    assert.deepEqual(sharesOf(world, 'acme-one', old), { old: 90, new: 10 })
    assert.equal(versionOf(world, 'acme-one'), old, 'the record keeps the version that most requests get')
    const versions = world.account.state.scripts.get('acme-one')?.versions.length
    await rollChanged(50)
    assert.deepEqual(sharesOf(world, 'acme-one', old), { old: 50, new: 50 })
    assert.equal(world.account.state.scripts.get('acme-one')?.versions.length, versions, 'it is uploaded once')
    await rollChanged(100)
    assert.deepEqual(sharesOf(world, 'acme-one', old), { new: 100 })
    const current = versionOf(world, 'acme-one')
    assert.notEqual(current, old)

    first.write('tools/one/index.js', toolModule('one', { note: 'third' }))
    await rollChanged(20)
    assert.deepEqual(sharesOf(world, 'acme-one', current), { old: 80, new: 20 })
    const { root, env, terminal, environment } = options
    await rollback({ root, env, terminal, environment, force: false })
    assert.equal(
      Object.keys(sharesOf(world, 'acme-one', current)).length,
      1,
      'no request gets the new version any more',
    )
    assert.equal(sharesOf(world, 'acme-one', versionOf(world, 'acme-one'))['old'], 100)
  } finally {
    world.close()
  }
}

/** Deploys over a Worker that somebody made by hand: refused, and then adopted. */
export async function checkAdoption(): Promise<void> {
  const world = await makeWorld()
  try {
    const { account, first } = world
    const id = account.state.nextId()
    const version = { id, tag: '', message: 'by hand', bindings: [], modules: {}, mainModule: '' }
    const deployments = [{ id, versions: [{ version_id: id, percentage: 100 }] }]
    account.state.scripts.set('acme-one', { versions: [version], deployments, workersDev: false })
    await assert.rejects(deploy(world.optionsOf(first)), (error: unknown) => {
      assert.ok(error instanceof Failure)
      assert.match(`${error.message} ${error.hint}`, /--adopt acme-one/)
      return true
    })
    assert.deepEqual(account.writes, [])
    await deploy({ ...world.optionsOf(first), adopt: ['acme-one'] })
    const live = account.state.live()['acme-one'] ?? []
    assert.deepEqual(
      live.map((each) => each.id),
      [versionOf(world, 'acme-one')],
    )
    // From now on it is the project's own.
    await deploy(world.optionsOf(world.second))
  } finally {
    world.close()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await checkAdoption()
  await checkRollOut()
  console.log('Rolled out and adopted')
  process.exit()
}
