import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { unstable_readConfig as readConfig } from 'wrangler'
import { sharedResources } from '../../../src/cli/check/environments.ts'
import { readTargets } from '../../../src/cli/check/target.ts'
import { makeProject, PROJECT } from '../../fixtures/account/project.ts'

const EDGE = PROJECT['wrangler.toml'] ?? ''
const ONE = PROJECT['tools/one/wrangler.toml'] ?? ''

/** All that a Worker can name in an account and wrangler makes by itself. */
const PROVISIONED = `
[[kv_namespaces]]
binding = "CACHE"
id = "0123"

[[d1_databases]]
binding = "DB"
database_name = "orders"
database_id = "4567"

[[r2_buckets]]
binding = "FILES"
bucket_name = "files"

[[queues.producers]]
binding = "OUT"
queue = "out"

[[queues.consumers]]
queue = "in"
dead_letter_queue = "lost"

[[workflows]]
binding = "FLOW"
name = "flow"
class_name = "Flow"
`

/** What it can name besides. */
const RESOURCES = `
routes = ["shop.example.com/*"]

[triggers]
crons = ["0 3 * * *"]

[[vectorize]]
binding = "INDEX"
index_name = "texts"

[[hyperdrive]]
binding = "SQL"
id = "hyper"

[[send_email]]
name = "MAIL"

[[secrets_store_secrets]]
binding = "TOKEN"
store_id = "store"
secret_name = "token"

[[analytics_engine_datasets]]
binding = "EVENTS"

[[ratelimits]]
name = "RATE"
namespace_id = "1001"
simple = { limit = 60, period = 60 }

[[vpc_services]]
binding = "INNER"
service_id = "inner"

[[vpc_networks]]
binding = "NET"
tunnel_id = "tunnel"

[[ai_search]]
binding = "SEARCH"
instance_name = "search"

[[ai_search_namespaces]]
binding = "SEARCHES"
namespace = "searches"

[[agent_memory]]
binding = "MEMORY"
namespace = "memory"

[[dispatch_namespaces]]
binding = "TENANTS"
namespace = "tenants"

[[mtls_certificates]]
binding = "CERTIFICATE"
certificate_id = "certificate"

[[pipelines]]
binding = "PIPE"
stream = "pipe"

[[k2]]
binding = "STREAM"
stream = "stream"

[[artifacts]]
binding = "ARTIFACTS"
namespace = "repositories"

[[flagship]]
binding = "FLAGS"
app_id = "flags"
`

/** The settings that are lists and name nothing in the account which two environments could share. */
const UNSHARED = [
  ...['definedEnvironments', 'compatibility_flags', 'rules', 'migrations', 'connect'],
  ...['services', 'unsafe_hello_world', 'worker_loaders'],
]

async function read(files: Readonly<Record<string, string>>, environment: string, allowShared: readonly string[] = []) {
  const project = makeProject(files)
  onTestFinished(() => project.remove())
  const { targets, problems, others } = await readTargets({ root: project.root, environment, allowShared })
  expect(problems).toEqual([])
  return { targets, shared: sharedResources({ name: environment, workers: targets }, others, allowShared) }
}

function settingsOf(targets: Awaited<ReturnType<typeof read>>['targets'], baseName: string) {
  const target = targets.find((each) => each.baseName === baseName)
  if (!target) throw new Error(`There is no ${baseName}.`)
  return target.settings
}

describe('an environment without a section', () => {
  test('gets KV namespaces, databases, buckets, queues and workflows of its own', async () => {
    const { targets, shared } = await read({ 'tools/one/wrangler.toml': `${ONE}${PROVISIONED}` }, 'staging')
    expect(shared).toEqual([])
    const { kv_namespaces, d1_databases, r2_buckets, queues, workflows } = settingsOf(targets, 'acme-one')
    expect({ kv_namespaces, d1_databases, r2_buckets, queues, workflows }).toMatchObject({
      kv_namespaces: [{ binding: 'CACHE' }],
      d1_databases: [{ binding: 'DB', database_name: 'orders-staging' }],
      r2_buckets: [{ binding: 'FILES', bucket_name: 'files-staging' }],
      queues: {
        producers: [{ binding: 'OUT', queue: 'out-staging' }],
        consumers: [{ queue: 'in-staging', dead_letter_queue: 'lost-staging' }],
      },
      workflows: [{ binding: 'FLOW', name: 'flow-staging' }],
    })
    expect(kv_namespaces.map(({ id }) => id)).toEqual([undefined])
    expect(d1_databases.map(({ database_id: id }) => id)).toEqual([undefined])
  })

  test('keeps what it may share, by its name or its id', async () => {
    const allowed = ['0123', 'orders', 'files', 'out', 'in', 'lost', 'flow']
    const { targets, shared } = await read({ 'tools/one/wrangler.toml': `${ONE}${PROVISIONED}` }, 'staging', allowed)
    expect(shared).toEqual([])
    const { kv_namespaces, d1_databases, r2_buckets, queues, workflows } = settingsOf(targets, 'acme-one')
    const production = settingsOf(
      (await read({ 'tools/one/wrangler.toml': `${ONE}${PROVISIONED}` }, 'production')).targets,
      'acme-one',
    )
    expect({ kv_namespaces, d1_databases, r2_buckets, queues, workflows }).toEqual({
      kv_namespaces: production.kv_namespaces,
      d1_databases: production.d1_databases,
      r2_buckets: production.r2_buckets,
      queues: production.queues,
      workflows: production.workflows,
    })
  })

  test('is refused everything else that production has, each by its name', async () => {
    const { shared } = await read({ 'tools/one/wrangler.toml': `${ONE}${RESOURCES}` }, 'staging')
    expect(shared.map(({ message }) => message).sort()).toEqual([
      'staging would share the AI Search instance search with production.',
      'staging would share the AI Search namespace searches with production.',
      'staging would share the Flagship app flags with production.',
      'staging would share the Hyperdrive configuration hyper with production.',
      'staging would share the VPC network tunnel with production.',
      'staging would share the VPC service inner with production.',
      'staging would share the Vectorize index texts with production.',
      'staging would share the agent memory memory with production.',
      'staging would share the artifacts namespace repositories with production.',
      'staging would share the client certificate certificate with production.',
      'staging would share the cron trigger 0 3 * * * with production.',
      'staging would share the dataset EVENTS with production.',
      'staging would share the dispatch namespace tenants with production.',
      'staging would share the permission to send mail MAIL with production.',
      'staging would share the pipeline pipe with production.',
      'staging would share the rate limit 1001 with production.',
      'staging would share the route shop.example.com/* with production.',
      'staging would share the secret store/token with production.',
      'staging would share the stream stream with production.',
    ])
    expect(shared.find(({ message }) => message.includes('cron'))).toEqual({
      file: 'tools/one/wrangler.toml',
      message: 'staging would share the cron trigger 0 3 * * * with production.',
      remedy: "Write one of its own into [env.staging], or share it on purpose with --allow-shared '0 3 * * *'.",
    })
  })

  test('may share by name what it is refused', async () => {
    const { shared } = await read({ 'tools/one/wrangler.toml': `${ONE}${RESOURCES}` }, 'staging', [
      ...[
        'hyper',
        'inner',
        'texts',
        '0 3 * * *',
        'EVENTS',
        'MAIL',
        '1001',
        'store/token',
        'tunnel',
        'search',
        'searches',
      ],
      ...['memory', 'repositories', 'certificate', 'tenants', 'pipe', 'stream', 'flags'],
    ])
    expect(shared.map(({ message }) => message)).toEqual([
      'staging would share the route shop.example.com/* with production.',
    ])
  })
})

describe('an environment with a section', () => {
  const section = (text: string) => `${ONE}${PROVISIONED}${text}`

  test('is refused the database of production, which it names again', async () => {
    const files = {
      'tools/one/wrangler.toml': section(`
[[env.staging.kv_namespaces]]
binding = "CACHE"
id = "89ab"

[[env.staging.d1_databases]]
binding = "DB"
database_name = "orders"
database_id = "4567"

[[env.staging.r2_buckets]]
binding = "FILES"
bucket_name = "files-of-staging"

[[env.staging.queues.producers]]
binding = "OUT"
queue = "out-of-staging"

[[env.staging.workflows]]
binding = "FLOW"
name = "flow-of-staging"
class_name = "Flow"
`),
    }
    const { shared } = await read(files, 'staging')
    expect(shared.map(({ message }) => message)).toEqual([
      'staging would share the D1 database orders with production.',
    ])
  })

  test('inherits no route and no cron trigger of production unnoticed, as wrangler would have it', async () => {
    const top = EDGE.replace('name = "acme"\n', 'name = "acme"\nroutes = ["shop.example.com/*"]\n')
    const services = `
[triggers]
crons = ["0 3 * * *"]

[[env.staging.services]]
binding = "TOOL_ONE"
service = "acme-one-staging"

[[env.staging.services]]
binding = "TOOL_TWO"
service = "acme-two-staging"
`
    const { shared } = await read({ 'wrangler.toml': `${top}${services}` }, 'staging')
    expect(shared.map(({ message }) => message)).toEqual([
      'staging would share the route shop.example.com/* with production.',
      'staging would share the cron trigger 0 3 * * * with production.',
    ])
    const own = `${top}${services}
[env.staging]
routes = ["staging.example.com/*"]
triggers = { crons = [] }
`
    expect((await read({ 'wrangler.toml': own }, 'staging')).shared).toEqual([])
  })

  test('is refused the name of a Worker of production, which it would replace', async () => {
    const files = { 'tools/one/wrangler.toml': `${ONE}\n[env.staging]\nname = "acme-one"\n` }
    const { shared } = await read(files, 'staging')
    expect(shared).toEqual([
      {
        file: 'tools/one/wrangler.toml',
        message: 'staging would share the Worker acme-one with production.',
        remedy: 'Give it another name in [env.staging].',
      },
    ])
  })

  test('is refused what a third environment has', async () => {
    const files = {
      'tools/one/wrangler.toml': `${ONE}
[[env.qa.d1_databases]]
binding = "DB"
database_id = "qa"

[[env.staging.d1_databases]]
binding = "DB"
database_id = "qa"
`,
    }
    expect((await read(files, 'staging')).shared.map(({ message }) => message)).toEqual([
      'staging would share the D1 database qa with qa.',
    ])
  })

  test('is refused a section that leaves out a binding of production', async () => {
    const project = makeProject({ 'tools/one/wrangler.toml': section('\n[env.staging]\nworkers_dev = true\n') })
    onTestFinished(() => project.remove())
    const { problems } = await readTargets({ root: project.root, environment: 'staging' })
    expect(problems.map(({ message }) => message)).toEqual([
      '[env.staging] leaves out workflows, kv_namespaces, queues, r2_buckets, d1_databases, which wrangler does not inherit.',
    ])
  })
})

test('the section of the page about environments is complete and shares nothing', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/environments.md'), 'utf8')
  const [, section = ''] = /```toml\n([^`]*)```/.exec(page) ?? []
  const production = section
    .replace('[env.staging]\n', `${EDGE.slice(0, EDGE.indexOf('[[services]]'))}account_id = "0123"\n`)
    .replaceAll('-staging"', '"')
    .replace('staging.example.com', 'example.com')
    .replace('crons = []', 'crons = ["0 3 * * *"]')
  const files = {
    'wrangler.toml': `${production}\n${section}`,
    'tools/one/wrangler.toml': ONE.replace('acme-one', 'acme-clock'),
    'tools/two/wrangler.toml': ONE.replace('acme-one', 'acme-definitions'),
  }
  const { targets, shared } = await read(files, 'staging')
  expect(shared).toEqual([])
  expect(targets.map(({ name }) => name)).toEqual(['acme-clock-staging', 'acme-definitions-staging', 'acme-staging'])
})

test('every list among the settings of wrangler is known to name resources or none', () => {
  const project = makeProject({ 'tools/one/wrangler.toml': `${ONE}${RESOURCES}${PROVISIONED}` })
  onTestFinished(() => project.remove())
  const settings = readConfig({ config: join(project.root, 'tools/one/wrangler.toml') }, { hideWarnings: true })
  const unknown = Object.entries(settings).filter(([key, value]) => {
    return Array.isArray(value) && value.length === 0 && !UNSHARED.includes(key)
  })
  expect(unknown).toEqual([])
})
