import { afterEach, describe, expect, test } from 'vitest'
import { standInProblems } from '../../../src/cli/check/stand-ins.ts'
import { readTargets } from '../../../src/cli/check/target.ts'
import { makeProject, PROJECT, type ProjectFolder } from '../../fixtures/account/project.ts'

const folders: ProjectFolder[] = []

afterEach(() => {
  for (const project of folders.splice(0)) project.remove()
})

function projectOf(files: Readonly<Record<string, string>> = {}): string {
  const project = makeProject(files)
  folders.push(project)
  return project.root
}

const EDGE = PROJECT['wrangler.toml'] ?? ''
const ONE = PROJECT['tools/one/wrangler.toml'] ?? ''

async function read(files: Readonly<Record<string, string>>, options: { environment?: string; prefix?: string } = {}) {
  return readTargets({ root: projectOf(files), environment: 'production', ...options })
}

describe('readTargets', () => {
  test('returns tool Workers first and the edge last, without those that nothing is bound to', async () => {
    const free = ONE.replace('acme-one', 'acme-free')
    const { targets, unbound, problems } = await read({ 'tools/free/wrangler.toml': free })
    expect(problems).toEqual([])
    expect(targets.map(({ name, role }) => [name, role])).toEqual([
      ['acme-one', 'tool'],
      ['acme-two', 'tool'],
      ['acme', 'edge'],
    ])
    expect(unbound.map(({ name }) => name)).toEqual(['acme-free'])
  })

  test('puts a tool Worker after the one that it is bound to', async () => {
    const boundConfig = `${ONE}[[services]]\nbinding = "OTHER"\nservice = "acme-two"\n`
    const { targets } = await read({ 'tools/one/wrangler.toml': boundConfig })
    expect(targets.map(({ name }) => name)).toEqual(['acme-two', 'acme-one', 'acme'])
  })

  test('gives all Workers and bindings the names of an environment and of a prefix', async () => {
    const { targets } = await read({}, { environment: 'staging', prefix: 'shop' })
    expect(targets.map(({ name }) => name)).toEqual(['shop-one-staging', 'shop-two-staging', 'shop-staging'])
    expect(targets.at(-1)?.settings.services?.map(({ service }) => service)).toEqual([
      'shop-one-staging',
      'shop-two-staging',
    ])
  })

  test('reports two Workers of one name, in either file', async () => {
    const { problems } = await read({ 'tools/two/wrangler.toml': ONE })
    expect(problems[0]).toEqual({
      file: 'tools/two/wrangler.toml',
      message: 'The Worker is named "acme-one", as that of tools/one/wrangler.toml is: one would replace the other.',
      remedy: 'Give it another name.',
    })
  })

  test('reports a binding to a Worker that does not exist, whatever the name of the binding', async () => {
    const { problems } = await read({
      'wrangler.toml': EDGE.replace('"acme-two"', '"acme-tow"').replace('TOOL_TWO', 'TWO'),
    })
    expect(problems).toEqual([
      {
        file: 'wrangler.toml',
        message: 'TWO is bound to "acme-tow", and no Worker here has that name.',
        remedy: 'Those here are acme-one, acme-two, acme.',
      },
    ])
  })

  test('reports an edge of staging that is bound to a tool Worker of production', async () => {
    const staging = `${EDGE}
[[env.staging.services]]
binding = "TOOL_ONE"
service = "acme-one-staging"

[[env.staging.services]]
binding = "TOOL_TWO"
service = "acme-two"
`
    const { problems } = await read({ 'wrangler.toml': staging }, { environment: 'staging' })
    expect(problems).toEqual([
      {
        file: 'wrangler.toml',
        message: '[env.staging] binds TOOL_TWO to "acme-two", which is not of that environment.',
        remedy: 'Bind it to "acme-two-staging".',
      },
    ])
  })

  test('reports bindings that the section of an environment omits, since wrangler does not inherit them', async () => {
    const staging = `${EDGE}\n[env.staging]\nworkers_dev = true\n`
    const { problems } = await read({ 'wrangler.toml': staging }, { environment: 'staging' })
    expect(problems.map(({ message }) => message)).toEqual([
      '[env.staging] leaves out services, which wrangler does not inherit.',
    ])
  })

  test('names the file and the line of broken TOML', async () => {
    const { problems } = await read({ 'tools/one/wrangler.toml': 'name = "acme-one"\nmain = index.js\n' })
    expect(problems).toEqual([
      {
        file: 'tools/one/wrangler.toml',
        line: 2,
        message: 'Invalid TOML document: invalid value.',
        remedy: 'Correct the file.',
      },
    ])
  })

  test('reports a Worker without a name', async () => {
    const { problems } = await read({ 'tools/one/wrangler.toml': ONE.replace('name = "acme-one"\n', '') })
    expect(problems[0]).toMatchObject({ file: 'tools/one/wrangler.toml', message: 'There is no `name`.' })
  })
})

describe('standInProblems', () => {
  test('refuses a stand-in until its variable is set or it is allowed by name', async () => {
    const messages = async (vars: string, allowed: readonly string[] = []) => {
      const { targets } = await read({ 'tools/one/wrangler.toml': `${ONE}[vars]\n${vars}\n` })
      return standInProblems(targets, allowed).map(({ message }) => message)
    }
    expect(await messages('STAND_IN = "MAIL_URL"\nMAIL_URL = ""')).toEqual([
      'acme-one would answer with a stand-in, since MAIL_URL is not set.',
    ])
    expect(await messages('STAND_IN = "MAIL_URL"\nMAIL_URL = "https://mail.example.com"')).toEqual([])
    expect(await messages('STAND_IN = "always"')).toEqual(['acme-one would answer with made-up data.'])
    expect(await messages('STAND_IN = "always"', ['acme-one'])).toEqual([])
  })
})
