/**
 * Runs the client scenarios of MCP's conformance suite with the Worker `tools/mcp` as the client: those that a revision
 * requires, and the extensions that the Worker has. Exits with 1 if any fails.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { startMcpClient } from './start-worker.ts'

const SUITE = new URL('../node_modules/@modelcontextprotocol/conformance/', import.meta.url).pathname
const CLIENT = new URL('client.ts', import.meta.url).pathname
/** Not required by any revision. */
const MORE = ['json-schema-2020-12-preservation']
const EXTENSIONS = ['auth/client-credentials-basic', 'auth/client-credentials-jwt']
const AT_ONCE = 3
/**
 * The one check that fails, by design: a person may take hours to answer, so the call that asks is cancelled, and made
 * anew with the answer. The suite's server counts the cancelled call as a failure; the defaults in the second one pass.
 */
const DEFAULTS_SCENARIO = 'elicitation-sep1034-client-defaults'
const ASKED_LATER = /Passed: 5\/6, 1 failed[^]*ClientElicitationSEP1034General/

/** Returns the client scenarios that a revision requires. */
function requiredScenarios(revision: string): string[] {
  const text = readFileSync(`${SUITE}requirements/${revision}.yaml`, 'utf8')
  const [, section = ''] = /^client:\n((?: {2}.*\n)+)/m.exec(text) ?? []
  const names = [...section.matchAll(/- (\S+)/g)].map(([, name = '']) => name)
  if (names.length === 0) throw new Error(`The suite names no scenario that ${revision} requires.`)
  return names
}

/** Runs a scenario. Returns what the suite writes if it fails. */
function failureOf(url: URL, scenario: string, revision?: string): Promise<string | undefined> {
  const args = ['client', '--command', `${process.execPath} ${CLIENT}`, '--scenario', scenario]
  const version = revision === undefined ? [] : ['--spec-version', revision]
  const options = { maxBuffer: 2 ** 26, env: { ...process.env, MCP_CLIENT: url.href } }
  return new Promise((resolve) => {
    execFile(process.execPath, [`${SUITE}dist/index.js`, ...args, ...version], options, (error, out, errors) => {
      const text = out + errors
      const isPassed =
        scenario === DEFAULTS_SCENARIO ? ASKED_LATER.test(text) : !error && text.includes('OVERALL: PASSED')
      resolve(isPassed ? undefined : text)
    })
  })
}

const revisions = ['2025-11-25', '2026-07-28']
const queue = [
  ...revisions.flatMap((revision) =>
    [...requiredScenarios(revision), ...MORE].map((name) => [name, revision] as const),
  ),
  ...EXTENSIONS.map((name) => [name, undefined] as const),
]
const total = queue.length
const failed: string[] = []
const worker = await startMcpClient()

async function run(): Promise<void> {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [scenario, revision] = next
    const failure = await failureOf(worker.url, scenario, revision)
    if (failure === undefined) continue
    failed.push(`${scenario} ${revision ?? ''}`)
    console.error(failure)
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, run))
await worker.close()
console.log(`${total - failed.length} of ${total} client scenarios passed`)
if (failed.length > 0) {
  console.error(`Failed:\n  ${failed.join('\n  ')}`)
  process.exitCode = 1
}
