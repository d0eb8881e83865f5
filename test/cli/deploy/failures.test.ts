import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Terminal } from '../../../src/cli/command/terminal.ts'
import { deploy } from '../../../src/cli/deploy/deploy.ts'
import type { DeployOptions } from '../../../src/cli/deploy/options.ts'
import { Failure } from '../../../src/cli/failure.ts'
import { type Account, startAccount } from '../../fixtures/account/account.ts'
import { makeProject, PROJECT, type ProjectFolder } from '../../fixtures/account/project.ts'

const silent: Terminal = {
  isJson: false,
  print: () => {},
  emit: () => {},
  confirm: async (question, hint) => {
    throw new Failure(question, hint)
  },
  askSecret: async (question) => {
    throw new Failure(question)
  },
}

function project(files: Readonly<Record<string, string>> = {}): ProjectFolder {
  const project = makeProject(files)
  onTestFinished(() => project.remove())
  return project
}

/** Deploys a project whose Workers count as built and started, and returns why that fails. */
async function failureOf({ root }: ProjectFolder, options: Partial<DeployOptions> = {}): Promise<string[]> {
  const failed = deploy({
    root,
    env: {},
    terminal: silent,
    signal: new AbortController().signal,
    dryRun: false,
    environment: 'production',
    resume: false,
    force: false,
    allowBreak: [],
    allowStandIn: [],
    allowShared: [],
    adopt: [],
    bundle: async (target) => ({ target, folder: '', config: '', hash: `hash of ${target.name}`, size: 1, gzip: 1 }),
    start: async () => ({ ok: true, descriptions: new Map(), missing: new Map() }),
    ...options,
  })
  const failure: unknown = await failed.then(
    () => 'it was deployed',
    (error: unknown) => error,
  )
  if (!(failure instanceof Failure)) throw new Error(String(failure))
  return [failure.message, failure.hint]
}

async function accountOf(): Promise<Account> {
  const account = await startAccount()
  onTestFinished(() => account.close())
  return account
}

describe('deploy changes nothing and says what to do', () => {
  test('without a login', async () => {
    const { PATH } = process.env
    const { root } = project()
    const env = { PATH, HOME: root, XDG_CONFIG_HOME: root }
    expect(await failureOf({ root, write: () => {}, remove: () => {} }, { env })).toEqual([
      'There is no login for Cloudflare.',
      'Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.',
    ])
  })

  test('with a file of secrets that is not there, before anything is built, with --dry-run too', async () => {
    const bundle = () => Promise.reject(new Error('nothing is built'))
    const text = 'nowhere.env cannot be read.'
    const hint = 'Give --secrets a file of lines NAME=value, or of JSON.'
    for (const dryRun of [true, false]) {
      const env = (await accountOf()).env
      const options = { env, dryRun, secrets: 'nowhere.env', bundle }
      expect(await failureOf(project(), options)).toEqual([text, hint])
    }
  })

  test('with a token that Cloudflare refuses', async () => {
    const account = await accountOf()
    const env = { ...account.env, CLOUDFLARE_API_TOKEN: 'another' }
    expect(await failureOf(project(), { env })).toEqual([
      expect.stringMatching(/^Cloudflare refuses .*: Authentication error\.$/),
      'The token needs the permissions "Workers Scripts: Edit" and "Workers KV Storage: Edit" of this account.',
    ])
  })

  test('offline', async () => {
    const account = await accountOf()
    const env = { ...account.env, CLOUDFLARE_API_BASE_URL: 'http://127.0.0.1:9/client/v4' }
    const [message] = await failureOf(project(), { env })
    expect(message).toMatch(/^Cloudflare (?:cannot be reached|does not answer)/)
  })

  test('if the account has a Worker of that name from elsewhere', async () => {
    const account = await accountOf()
    const id = account.state.nextId()
    const version = { id, tag: '', message: 'by hand', bindings: [], modules: {}, mainModule: '' }
    const deployments = [{ id, versions: [{ version_id: id, percentage: 100 }] }]
    account.state.scripts.set('acme-one', { versions: [version], deployments, workersDev: false })
    const [message, hint] = await failureOf(project(), { env: { ...account.env } })
    expect(`${message} ${hint}`).toContain('The account has a Worker acme-one that is not of this project.')
    expect(`${message} ${hint}`).toContain('overwrite it with --adopt acme-one')
    expect(account.writes).toEqual([])
  })

  test.each<[string, Readonly<Record<string, string>>, Partial<DeployOptions>, RegExp]>([
    ['with a broken wrangler.toml', { 'tools/one/wrangler.toml': 'name = \n' }, {}, /tools\/one\/wrangler\.toml/],
    ['with a Worker to deploy that does not exist', {}, { only: 'three' }, /There is no Worker "three" to deploy\./],
    ['with --gradual and no Worker', {}, { gradual: 10 }, /--gradual needs a Worker\. Name it: --only <worker>\./],
  ])('%s', async (_, files, options, text) => {
    const account = await accountOf()
    expect((await failureOf(project(files), { env: { ...account.env }, ...options })).join(' ')).toMatch(text)
    expect(account.writes).toEqual([])
  })

  test('with a folder missing, of the edge or of a bound Worker', async () => {
    const withoutTool = project()
    rmSync(join(withoutTool.root, 'tools/two'), { recursive: true })
    expect((await failureOf(withoutTool)).join(' ')).toMatch(/TOOL_TWO.*acme-two|acme-two.*TOOL_TWO/)
    const withoutEdge = project()
    rmSync(join(withoutEdge.root, 'wrangler.toml'))
    expect((await failureOf(withoutEdge))[0]).toMatch(/^There is no wrangler\.toml/)
  })
})

test('deploy prints the patterns of variables that match no tool, and continues', async () => {
  const vars = `\n[vars]\nTOOL_POLICY = '{"one":{},"tow":{}}'\n`
  const { root } = project({ 'wrangler.toml': `${PROJECT['wrangler.toml']}${vars}` })
  const described = (name: string) => ({
    ...{ name, description: 'Does it.', inputSchema: { type: 'object' } },
    ...{ version: '1', hash: name, annotations: {} },
  })
  const lines: string[] = []
  await deploy({
    ...{ root, env: {}, terminal: { ...silent, print: (text) => void lines.push(text) } },
    ...{ signal: new AbortController().signal, dryRun: true, environment: 'production', resume: false, force: false },
    ...{ allowBreak: [], allowStandIn: [], allowShared: [], adopt: [] },
    bundle: async (target) => ({ target, folder: '', config: '', hash: target.name, size: 1, gzip: 1 }),
    start: async () => ({
      ok: true,
      descriptions: new Map(['one', 'two'].map((name) => [`acme-${name}`, [described(name)]])),
      missing: new Map(),
    }),
  })
  expect(lines[0]).toBe(
    'wrangler.toml: TOOL_POLICY names "tow", which matches no tool, so that it has no effect. Correct or remove it.\n',
  )
})
