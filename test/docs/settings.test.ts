import { approvers, createEdge, type Env, mailApprovers } from 'edgecall'
import { everything } from 'edgecall/everything'
import { parse as parseToml } from 'smol-toml'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { SCOPES } from '../../src/contract/api-key.ts'
import { variableNames } from '../../src/cli/document/configuration.ts'
import { parseCases } from '../../src/cli/eval/cases.ts'
import { parseDescriptions } from '../../src/cli/eval/side.ts'
import { definitionsWorker } from '../fixtures/definitions.ts'
import { readServers } from '../../tools/mcp/servers.ts'
import { type Block, pages } from './pages.ts'

const blocks = pages().flatMap((page) => page.blocks)
const blocksIn = (language: string) =>
  blocks.filter((block) => block.language === language).map((block) => [placeOf(block), block] as const)

function placeOf({ page, line }: Block): string {
  return `${page}:${line}`
}

const HOSTS = { 'api.example.com': ['SECRET_EXAMPLE'], 'api.frankfurter.dev': [] }
const codeHost = { loader: {}, outbound: () => ({}) } as never

/** Reads variables as an edge does that has a binding for each rate they name. Throws if it refuses one. */
function readVariables(vars: Record<string, unknown>): void {
  const rates = JSON.stringify(vars).match(/RATE_[A-Z]+/g) ?? []
  const bindings = Object.fromEntries(rates.map((name) => [name, { limit: async () => ({ success: true }) }]))
  const approver = mailApprovers({ binding: 'MAIL', from: 'edge@example.com', people: {} })
  const groups = approvers({ finance: approver, board: approver })
  const needs = { OUTCOME_SECRET: 'secret', EDGE_URL: 'https://edge.example.com' }
  const edge = createEdge({ ...everything, use: [...everything.use, groups] })
  edge.setup({ ...bindings, ...needs, ...vars } as unknown as Env)
}

/** Reads a block of JSON as its kind says. Throws if the edge would refuse it. */
async function readJson({ kind, text }: Block): Promise<void> {
  if (kind === 'cases') return void parseCases(text, 'cases.jsonl')
  const value: unknown = JSON.parse(text)
  const json = JSON.stringify(value)
  if (kind === 'definition') {
    const { name, code } = value as { name: string; code?: { module: string } }
    const written = await definitionsWorker({ code: codeHost }).write(name, value, HOSTS)
    // Modules load in workerd only, so they are loaded here.
    const issues = written.ok ? [] : written.issues.filter(({ path }) => path !== 'code.module')
    expect(issues).toEqual([])
    if (code)
      expect((await import(`data:text/javascript,${encodeURIComponent(code.module)}`)).default).toBeTypeOf('function')
  } else if (kind === 'policy') readVariables({ TOOL_POLICY: json })
  else if (kind === 'keys') readVariables({ API_KEYS: json.replaceAll('"…"', `"${'0'.repeat(64)}"`) })
  else if (kind === 'descriptions') parseDescriptions(value, 'descriptions.json')
  else if (kind === 'prices') readVariables({ MODEL_PRICES: json })
  else if (kind === 'identity') readVariables({ IDENTITY_PROVIDERS: json.replaceAll('<team>', 'team') })
  else if (kind === 'servers') {
    const servers = readServers({ MCP_SERVERS: json, SECRET_GITHUB: 'secret' })
    expect(servers.length).toBeGreaterThan(0)
  } else expect(kind, 'definition, policy, keys, prices, cases, descriptions, identity, servers, or nothing').toBe('')
}

/** Names that a wrangler.toml of the documentation may bind or set, beside the variables of an edge. */
const OTHER_VARS = new Set(['MCP_SERVERS'])
const BINDING =
  /^(?:TOOL_[A-Z0-9_]+|DEFINITIONS|CONVERSATIONS|DIRECTORIES|CATALOG|TOOLS|KEYS|LOADER|AI|RATE_[A-Z]+|[A-Z]+S)$/

/** Checks a block of TOML as a part of a wrangler.toml: its variables, with their values, and its bindings. */
function readToml({ text }: Block): void {
  const config: Record<string, any> = parseToml(text)
  const vars: Record<string, unknown> = config['vars'] ?? {}
  const unknown = Object.keys(vars).filter((name) => !variableNames().includes(name) && !OTHER_VARS.has(name))
  expect(unknown, 'variables that no edge reads').toEqual([])
  readVariables(vars)
  const bindings = [
    ...(config['services'] ?? []).map(({ binding }: any) => binding),
    ...(config['kv_namespaces'] ?? []).map(({ binding }: any) => binding),
    ...(config['durable_objects']?.bindings ?? []).map(({ name }: any) => name),
    ...(config['ratelimits'] ?? []).map(({ name }: any) => name),
  ]
  for (const binding of bindings) expect(binding).toMatch(BINDING)
}

describe('JSON in the documentation', () => {
  test.each(blocksIn('json'))('in %s is valid for the edge', (_place, block) => readJson(block))

  test('is refused if the edge would refuse it', async () => {
    const wrong = { page: '', line: 1, language: 'json', given: '' }
    await expect(readJson({ ...wrong, kind: 'policy', text: '{ "a": { "rates": "RATE_WEB" } }' })).rejects.toThrow()
    await expect(readJson({ ...wrong, kind: 'definition', text: '{ "name": "a", "htp": {} }' })).rejects.toThrow()
  })
})

describe('TOML in the documentation', () => {
  test.each(blocksIn('toml'))('in %s has variables and bindings that an edge reads', (_place, block) => readToml(block))

  test('is refused if a variable does not exist, or has a wrong value', () => {
    const block = { page: '', line: 1, language: 'toml', kind: '', given: '' }
    expect(() => readToml({ ...block, text: '[vars]\nMAX_STEP = "1"\n' })).toThrow(/MAX_STEP/)
    expect(() => readToml({ ...block, text: '[vars]\nMAX_STEPS = "one"\n' })).toThrow(/MAX_STEPS/)
  })
})

test('the page on deploying describes every scope of a key', () => {
  const page = readFileSync('docs/deploy.md', 'utf8')
  expect(SCOPES.filter((scope) => !page.includes(`\n| \`${scope}\` `))).toEqual([])
})
