/**
 * `npm run pictures`: takes the pictures of docs/pictures in Chromium, from the studio of an edge that `npm start` runs.
 * Run it after a change of the studio's looks. The tools are those of this repository; the model follows the script below.
 * Then `diagrams.ts` draws the diagrams.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type ScriptedAnswer, type ScriptedRequest, startScriptedModel } from '../../src/test.ts'
import { freePort, start } from '../cli/command.ts'
import { launchChromium, missingChromium } from '../fixtures/chromium.ts'
import { ROOT } from './pages.ts'

const SIZE = { width: 1200, height: 750 }

const TOMORROW = new Date(Date.now() + 24 * 3_600_000).toISOString().slice(0, 10)
const PLACES = ['Lisbon', 'Bergen']
const QUESTION = 'Is it warmer in Lisbon or in Bergen tomorrow? Mail the answer to ada@example.com.'

/** The questions in the list of runs, each with the call that the model makes for it. */
const OTHERS: Readonly<Record<string, { readonly tool: string; readonly arguments: object }>> = {
  'What is the square root of 475695037565?': { tool: 'squareRoot', arguments: { number: '475695037565' } },
  'What time is it in Tokyo?': { tool: 'currentTime', arguments: { timeZone: 'Asia/Tokyo' } },
  'Is the storm over in Stormbreak?': { tool: 'forecast', arguments: { place: 'Stormbreak', date: TOMORROW } },
  'What is 19% of 1,240?': { tool: 'calculate', arguments: { expression: '0.19 * 1240' } },
}

/** What the tool `forecast` returns. */
interface Forecast {
  readonly place: string
  readonly summary: string
  readonly temperatureMaxC: number
  readonly precipitationMm: number
}

/** The script: two forecasts side by side, a mail that a person approves, and an answer with a table. */
function answer({ messages }: ScriptedRequest): ScriptedAnswer {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
  const results = turn.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
  const step = turn.filter(({ role }) => role === 'assistant').length
  const usage = { inputTokens: 1840 + 260 * step, outputTokens: 60 + 30 * step }
  const call = OTHERS[String(turn[0]?.['content'])]
  if (call) return step === 0 ? { calls: [call], usage } : { text: results.join(), usage }
  if (step === 0) {
    const calls = PLACES.map((place) => ({ tool: 'forecast', arguments: { place, date: TOMORROW } }))
    return { calls, usage, delayMs: 620 }
  }
  const forecasts = results.slice(0, PLACES.length).map((result): Forecast => JSON.parse(result))
  const lines = forecasts.map((each) => `${each.place}: ${each.summary}, up to ${each.temperatureMaxC} °C.`)
  const place = forecasts.toSorted((a, b) => b.temperatureMaxC - a.temperatureMaxC)[0]?.place ?? ''
  if (step === 1) {
    const mail = { to: 'ada@example.com', subject: `It is warmer in ${place}`, text: lines.join('\n') }
    return { calls: [{ tool: 'sendMail', arguments: mail }], usage, delayMs: 480 }
  }
  const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  const table = [
    row(['', ...forecasts.map((each) => each.place)]),
    row(['---', ...forecasts.map(() => '---')]),
    row(['Sky', ...forecasts.map((each) => each.summary)]),
    row(['Highest, °C', ...forecasts.map((each) => each.temperatureMaxC)]),
    row(['Rain, mm', ...forecasts.map((each) => each.precipitationMm)]),
  ]
  return {
    text: `It is warmer in **${place}**, and Ada has a mail that says so.\n\n${table.join('\n')}\n`,
    usage,
    delayMs: 550,
  }
}

if (missingChromium) throw new Error(`No picture can be taken: ${missingChromium}`)
const state = mkdtempSync(join(tmpdir(), 'edgecall-pictures-'))
const port = await freePort()
const url = `http://127.0.0.1:${port}`
const model = await startScriptedModel(answer)
const MODEL_PRICES = JSON.stringify({ 'openai/*': { input: 0.4, output: 1.6 } })
const edge = start('npm', ['start', '--ignore-scripts'], {
  env: { ...model.vars, OPENAI_API_KEY: 'none', MODEL_PRICES, PORT: String(port), STATE_DIR: state },
})
const browser = await launchChromium()
try {
  await edge.until(`curl ${url}/runs`)
  for (const question of Object.keys(OTHERS)) await run(question)
  const { conversation, id, calls } = await run(QUESTION)
  const page = await (await browser.newContext({ viewport: SIZE })).newPage()
  await page.goto(url)

  await open(page, 'Approvals', 'ada@example.com')
  await take(page, 'approvals')

  const call = `/conversations/${conversation}/runs/${id}/calls/${calls.at(-1)?.id}`
  await post(call, { decision: 'approve', reason: 'Ada wants to know today.' })
  await page.goto(`${url}/#/c/${conversation}/${id}`)
  await page.getByText('and Ada has a mail').waitFor()
  await take(page, 'chat')

  await open(page, /Runs|Conversations/, 'What time is it in Tokyo?')
  await take(page, 'runs')

  await open(page, 'Tools', 'squareRoot')
  await take(page, 'tools')
} finally {
  await browser.close()
  edge.kill()
  await edge.ended
  await model.close()
  rmSync(state, { recursive: true, force: true })
}

/** Opens a page of the studio by its link, and waits until it shows a text. */
async function open(page: Page, link: string | RegExp, text: string): Promise<void> {
  await page.getByRole('navigation').first().getByRole('link', { name: link }).click()
  await page.getByText(text).first().waitFor()
}

async function take(page: Page, name: string): Promise<void> {
  const path = `${ROOT}docs/pictures/${name}.png`
  await page.screenshot({ path, animations: 'disabled' })
  const { size } = statSync(path)
  console.log(`${path} (${size} bytes)`)
}

/** What the edge answers about a run. */
interface Run {
  readonly conversation: string
  readonly id: string
  readonly calls: readonly { readonly id: string }[]
}

async function run(input: string): Promise<Run> {
  const conversation = await post('/conversations', {})
  return post(`/conversations/${conversation.id}/runs`, { input })
}

async function post(path: string, body: object): Promise<Run> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Run
}
