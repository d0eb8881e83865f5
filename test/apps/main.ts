/**
 * `npm run test:apps [-- --only NAME] [-- --verbose]`: runs the applications that people use against an edge on workerd, with a scripted
 * model, and compares what they do with the table of `expected.ts`. Needs no network once they are installed.
 */
import { parseArgs } from 'node:util'
import { sha256 } from '../../src/contract/json.ts'
import { startStage } from '../edge/stage.ts'
import { ROWS, type Runnable } from './applications.ts'
import { EXPECTED } from './expected.ts'
import { startAppsModel } from './model.ts'
import { connectApplication } from './run.ts'
import { type Scenario, SCENARIOS } from './scenarios.ts'
import { startTap, type Tapped } from './tap.ts'

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, verbose: { type: 'boolean', default: false } },
})
/** The key of the applications, and that of the person who allows what they may not do by themselves. */
const KEY = 'ek_of_the_applications'
const PERSONS_KEY = 'ek_of_a_person'
const model = await startAppsModel()
const stage = await startStage({
  MODEL: 'openai/scripted',
  MODELS: 'openai/*,responses/*,anthropic/*',
  OPENAI_BASE_URL: model.baseUrl,
  OPENAI_API_KEY: 'unused',
  ANTHROPIC_BASE_URL: model.baseUrl.replace(/\/v1$/, ''),
  ANTHROPIC_API_KEY: 'unused',
  TOOL_POLICY: JSON.stringify({ squareRoot: { approval: 'always' } }),
  API_KEYS: JSON.stringify([
    { sha256: await sha256(KEY), tenant: 'acme', scopes: ['chat', 'tools:read'] },
    { sha256: await sha256(PERSONS_KEY), tenant: 'acme', scopes: ['chat', 'tools:read', 'approve'] },
  ]),
  OUTCOME_SECRET: 'a-secret-of-the-tests-of-32-letters',
})
const tap = await startTap(stage.url)
let failures = 0
try {
  for (const [row, app] of Object.entries(ROWS)) {
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      if (!`${row}: ${name}`.includes(values.only)) continue
      await checkCell(row, name, app, scenario)
    }
  }
} finally {
  await tap.close()
  await stage.close()
  await model.close()
}
console.log(failures === 0 ? 'All are as the table expects.' : `${failures} differ from the table.`)
process.exitCode = failures === 0 ? 0 : 1

async function checkCell(row: string, name: string, app: Runnable, scenario: Scenario): Promise<void> {
  const began = Date.now()
  const expected = EXPECTED[row]?.[name] ?? { result: 'right', why: '' }
  if (expected.result === 'absent') return console.log(`- ${row}: ${name}: absent. ${expected.why}`)
  const result = await resultOf(app, scenario)
  const isExpected = result === expected.result
  if (!isExpected) failures += 1
  const seconds = ((Date.now() - began) / 1000).toFixed(1)
  console.log(
    `${isExpected ? '✓' : '✗'} ${row}: ${name}: ${result}${isExpected ? expected.why && `, since ${expected.why}` : `, expected ${expected.result}`} (${seconds} s)`,
  )
}

/** Plays a scenario. Returns `right`, or what was wrong first. */
async function resultOf(app: Runnable, scenario: Scenario): Promise<string> {
  const connected = await connectApplication(app, { url: tap.url, key: KEY, usesMcp: scenario.usesMcp ?? false })
  try {
    model.script(scenario.model(app.hands(connected.project)))
    tap.reset()
    for (const [turn, prompt] of scenario.prompts.entries()) {
      if (turn > 0 && scenario.usesMcp) await approveAll()
      const isCompacted = scenario.compacts === true && turn === scenario.prompts.length - 1
      const { compaction = '/compact' } = app
      if (isCompacted && typeof compaction === 'string') await connected.prompt(compaction, turn)
      const more = isCompacted && typeof compaction !== 'string' ? compaction : []
      const output = await connected.prompt(prompt, turn, more)
      if (values.verbose) report(output)
      const refusal = tap.requests.find(({ path, status }) => path.startsWith('/v1/') && status === 400)
      if (refusal) return `refused: ${/"code":"(\w+)"/.exec(refusal.answer)?.[1] ?? refusal.answer.slice(0, 200)}`
      if (!output.replaceAll(/\s+/g, ' ').includes(scenario.shows[turn] ?? ''))
        return `turn ${turn + 1} does not show the answer`
    }
    const wrong = Object.entries(scenario.files ?? {}).find(([path, text]) => connected.read(path) !== text)
    return wrong ? `${wrong[0]} is wrong` : 'right'
  } finally {
    connected.remove()
  }
}

/** Allows the calls that wait, as a person does in the studio. */
async function approveAll(): Promise<void> {
  const headers = { authorization: `Bearer ${PERSONS_KEY}` }
  const waiting: Waiting[] = await (await stage.ask('/approvals', { headers })).json()
  for (const { conversation, run, id, argumentsHash } of waiting) {
    const path = `/conversations/${conversation}/runs/${run}/calls/${id}`
    const { status } = await stage.ask(path, { headers, json: { decision: 'approve', argumentsHash } })
    if (status >= 300) throw new Error(`The call was not allowed: ${status}`)
  }
}

interface Waiting {
  readonly conversation: string
  readonly run: string
  readonly id: string
  readonly argumentsHash: string
}

function report(output: string): void {
  console.log(output)
  for (const { method, path, status, body, ignored, answer } of tap.requests)
    console.log(line({ method, path, status, body, ignored, answer }))
  console.log(
    model.questions
      .map(({ protocol, turns, tools }) => `${protocol} ${turns.length} turns, ${tools.length} tools`)
      .join('\n'),
  )
}

function line({ method, path, status, body, ignored, answer }: Omit<Tapped, 'headers'>): string {
  return `${method} ${path} ${status} ${body.length} bytes, ignored: ${ignored} ${status >= 400 ? answer.slice(0, 300) : ''}`
}
