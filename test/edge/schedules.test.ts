import axe from 'axe-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchChromium, missingChromium } from '../fixtures/chromium.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { type Stage, startStage } from './stage.ts'

/** What workerd adds to test/triggers: real objects, alarms and time zones. */
let model: ModelServer
let stage: Stage

beforeAll(async () => {
  model = await startModelServer(() => ({ chunks: chunksOf({ text: 'Here is the report.' }) }))
  stage = await startStage({
    ...withKeys(apiKey('owner', { id: 'owner', scopes: ['chat', 'schedules', 'metrics'] })),
    MODEL: 'openai/test',
    OPENAI_BASE_URL: model.baseUrl,
  })
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
})

async function ask(path: string, method = 'GET', json?: unknown): Promise<{ status: number; body: any }> {
  const response = await stage.ask(path, { method, headers: bearer('owner'), ...(json !== undefined && { json }) })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text }
}

const run = { input: 'Write the report.' }
const soon = () => new Date(Date.now() + 5000).toISOString()

test('schedules of one moment start one run each by the alarm of their object, also after it was lost', async () => {
  const at = soon()
  const names = Array.from({ length: 30 }, (_, index) => `report-${index}`)
  const replies = await Promise.all(names.map((name) => ask(`/schedules/${name}`, 'PUT', { at, run })))
  expect(replies.map(({ status }) => status)).toEqual(names.map(() => 201))
  await stage.server.getWorker('edgecall').evictDurableObject('Schedules', { name: 'acme' })
  await eventually(async () => {
    const { body: all } = await ask('/schedules')
    expect(all.map(({ last }: any) => last?.outcome)).toEqual(names.map(() => 'started'))
  })
  const { body } = await ask('/schedules/report-7')
  expect(body.history).toEqual([
    {
      due: at,
      at: expect.any(String),
      outcome: 'started',
      run: expect.stringMatching(/^run_/),
      conversation: expect.stringMatching(/^conv_/),
    },
  ])
  const [{ run: id7, conversation }] = body.history
  await eventually(async () => {
    const record = (await ask(`/conversations/${conversation}/runs/${id7}`)).body
    expect(record).toMatchObject({ status: 'completed', answer: 'Here is the report.' })
  })
  await eventually(() => expect(model.calls).toHaveLength(30))
  expect((await ask('/metrics')).body).toContain('edgecall_scheduled_total{outcome="started"} 30')
})

test('the next time of a pattern is that of its time zone', async () => {
  const zones = ['Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns']
  const nexts = await Promise.all(
    zones.map(async (timeZone, index) => {
      const { body } = await ask(`/schedules/zone-${index}`, 'PUT', { cron: '30 8 * * *', timeZone, run })
      return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(
        new Date(body.next),
      )
    }),
  )
  expect(nexts).toEqual(zones.map(() => '08:30'))
})

test('a run can be started at once, and a schedule be removed', async () => {
  await ask('/schedules/manual', 'PUT', { cron: '0 0 1 1 *', run })
  const started = await ask('/schedules/manual/run', 'POST')
  expect(started).toMatchObject({ status: 202, body: { outcome: 'started', manual: true } })
  expect((await ask('/schedules/manual')).body.last).toEqual(started.body)
  expect((await ask('/schedules/manual', 'DELETE')).status).toBe(204)
  expect((await ask('/schedules/manual')).status).toBe(404)
})

test.skipIf(missingChromium)(
  'the studio shows schedules, pauses them, and starts one now, also on a phone',
  async () => {
    const definition = { cron: '0 8 * * 1-5', timeZone: 'Europe/Berlin', run: { input: 'Write the weekly report.' } }
    await ask('/schedules/weekly', 'PUT', definition)
    const browser = await launchChromium()
    try {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
      await context.addInitScript(
        (key) => sessionStorage.setItem('edgecall-key', key),
        (bearer('owner')['authorization'] ?? '').slice(7),
      )
      const page = await context.newPage()
      await page.goto(new URL('/#/schedules', stage.url).href)
      const row = page.getByRole('row').filter({ hasText: 'Write the weekly report.' })
      await expect.poll(() => row.textContent()).toContain('Weekdays 08:00')
      const power = row.getByRole('switch', { name: 'weekly is on' })
      await power.click()
      await expect.poll(() => power.getAttribute('aria-checked')).toBe('false')
      expect((await ask('/schedules/weekly')).body.paused).toBe(true)

      await row.getByRole('link').click()
      await page.getByRole('button', { name: 'Run now' }).click()
      const run = page.getByRole('link', { name: 'Open run' })
      await run.waitFor()
      await page.evaluate(axe.source)
      const violations = await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')
      expect(violations).toEqual([])
      await page.setViewportSize({ width: 390, height: 844 })
      for (const view of ['#/schedules/weekly', '#/schedules', '#/more']) {
        await page.goto(new URL(`/${view}`, stage.url).href)
        await page
          .locator('main')
          .getByText(view === '#/more' ? 'Schedules' : /Write the weekly report/)
          .first()
          .waitFor()
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
      }
      await page.goto(new URL('/#/schedules/weekly', stage.url).href)
      await run.click()
      await expect.poll(() => page.url()).toContain('#/run/')
      await page.goto(new URL('/#/schedules/nothing', stage.url).href)
      await page.getByText('The schedule could not be loaded').waitFor()
    } finally {
      await browser.close()
    }
  },
)
