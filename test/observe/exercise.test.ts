import { expect, onTestFinished, test } from 'vitest'
import { runLog } from '../../src/cli/dev/run-log.ts'
import { serve } from '../clients/served-edge.ts'
import { launchChromium, missingChromium } from '../fixtures/chromium.ts'
import { bearer } from '../fixtures/keys.ts'
import { RUNS, watchedEdge } from './watched-edge.ts'

const attributesOf = ({ attributes }: any) =>
  Object.fromEntries(attributes.map(({ key, value }: any) => [key, Object.values(value)[0]]))

test('an operator gets from each alert in the metrics to the cause, in the traces and in the log', async () => {
  const edge = watchedEdge()
  const answers: number[] = []
  for (let run = 0; run < RUNS + 2; run++) answers.push(await edge.charges(run))

  // The alerts: three figures of `GET /metrics`.
  const text = await (await edge.fetch('/metrics', { headers: bearer('operator') })).text()
  const valueOf = (series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1],
    )
  const failed = valueOf('edgecall_calls_total{tool="charge",outcome="tool_failed"}')
  expect(failed / (failed + valueOf('edgecall_calls_total{tool="charge",outcome="ok"}'))).toBeCloseTo(1 / 5)
  expect(valueOf('edgecall_model_retries_total{model="test/scripted",code="model_overloaded"}')).toBe(1)
  expect(valueOf('edgecall_tokens_total{model="test/scripted",key="shop",kind="input"}')).toBe(220)
  expect(valueOf('edgecall_limits_total{limit="tokens"}')).toBe(1)
  expect(answers).toEqual([...Array.from({ length: RUNS + 1 }, () => 200), 429])

  // The traces: which runs the failed calls and the retry are in.
  const spans = edge.traces.flat()
  const runOf = (span: any) =>
    attributesOf(spans.find(({ traceId, name }) => traceId === span.traceId && name === 'invoke_agent'))[
      'edgecall.run.id'
    ]
  const broken = spans.filter(({ status }) => status.message === 'tool_failed')
  expect(broken.map(({ name }) => name)).toEqual(['execute_tool charge', 'execute_tool charge'])
  const retried = spans.find(({ events }) => events.some(({ name }: any) => name === 'model.retried'))
  expect(attributesOf(retried.events[0])).toEqual({
    'error.type': 'model_overloaded',
    'http.response.status_code': '529',
  })

  // The log, as `edgecall tail` prints it: the causes.
  let printed = ''
  const print = runLog((more) => void (printed += more))
  for (const line of edge.lines) print(line)
  const treeOf = (run: string) => printed.split(/^(?=run_)/m).find((tree) => tree.startsWith(run)) ?? ''
  expect(treeOf(runOf(broken[0]))).toMatch(
    /^│ ! charge {2}failed \(tool_failed\).* Error: The card reader is offline\./m,
  )
  expect(treeOf(runOf(retried))).toMatch(
    /^│ ! test\/scripted {2}failed and is asked again \(model_overloaded 529\).* Too many requests\.$/m,
  )
  expect(printed.match(/^! budget\.exhausted.*$/gm)).toEqual([
    expect.stringMatching(/^! budget\.exhausted {2}tenant acme {2}key shop {2}which tokens {2}from \d{4}-/),
  ])
})

if (missingChromium) test.skip(`the exercise is not done in the studio: ${missingChromium}`)

test.skipIf(missingChromium)('an operator gets from each alert to the cause in the studio', async () => {
  const edge = watchedEdge()
  for (let run = 0; run < RUNS + 2; run++) await edge.charges(run)
  const { url } = await serve(edge)
  const browser = await launchChromium()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`${url}/#/runs`)
  await page.getByLabel('API key').fill('operator')
  await page.keyboard.press('Enter')
  const runs = page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: 'Charge order' })
  await runs.nth(RUNS).waitFor()

  /** Shows what operators are told of the faults, unless it is shown at once. */
  const showCause = async () => {
    const cause = page.locator('details').filter({ hasText: 'Cause, for operators' }).first()
    await cause.waitFor()
    if (!(await cause.evaluate((each) => each.hasAttribute('open')))) await cause.locator('summary').click()
  }

  // The calls that failed: which runs, and why.
  await page.goto(`${url}/#/runs/${encodeURIComponent('error=tool_failed')}`)
  await expect.poll(() => runs.allInnerTexts()).toEqual(['Charge order 9', 'Charge order 4'])
  await runs.last().click()
  const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem')
  await rows.filter({ hasText: 'charge' }).getByRole('link').click()
  await showCause()
  await page.getByText('Error: The card reader is offline.').waitFor()
  await page
    .getByText(/version 1/)
    .first()
    .waitFor()

  // The request that was sent again: of which step, with the status of the provider and its words.
  await page.goto(`${url}/#/runs/${encodeURIComponent('query=Charge order 3')}`)
  await expect.poll(() => runs.count()).toBe(1)
  await runs.click()
  await rows.filter({ hasText: 'tried twice' }).getByRole('link').click()
  await showCause()
  await page.getByText(/^model_overloaded .*status 529.*tried again$/).waitFor()
  await page.getByText('Too many requests.').waitFor()

  // The budget: the run that used it up.
  await page.goto(`${url}/#/runs/${encodeURIComponent('query=Charge order 10')}`)
  await expect.poll(() => runs.allInnerTexts()).toEqual(['Charge order 10'])
  await runs.click()
  await page.getByText('completed · limit: tokens').waitFor()
  await page.getByText('The limit “tokens” was reached.').waitFor()
})

test('a failure of a run is printed as a tree of its own where runs are not logged', () => {
  let printed = ''
  const print = runLog((more) => void (printed += more), false)
  const fault = {
    runId: 'run_a',
    model: 'openai/x',
    code: 'model_overloaded',
    status: 529,
    attempts: 3,
    durationMs: 42,
  }
  print(JSON.stringify({ event: 'model.failed', ...fault, detail: 'Too many requests.' }))
  expect(printed).toBe('run_a\n└ openai/x  failed (model_overloaded 529)  3 attempts  42 ms  Too many requests.\n')
})
