import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { npmStart } from './npm-start.ts'

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const hasChromium = existsSync(CHROMIUM)

/** Nothing that the browser would ask of anybody but the edge. */
const QUIET = ['component-update', 'background-networking', 'sync', 'quic', 'gpu'].map((name) => `--disable-${name}`)

const WEATHER = 'What is the weather in Paris and in Oslo tomorrow?'
const MAIL = 'Send a mail to ada@example.com with subject "Hi" saying "Hello there"'
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

if (!hasChromium) test.skip(`the studio is not tested in a browser: there is no Chromium at ${CHROMIUM}`)

describe.skipIf(!hasChromium)('the studio in Chromium', () => {
  const edge = hasChromium ? npmStart() : { url: '' }
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--headless', '--no-sandbox', '--no-first-run', ...QUIET],
    })
  })
  afterAll(() => browser?.close())

  /** Opens a page of the studio. Whatever the browser complains of fails the test. */
  async function open(hash = '', options: BrowserContextOptions = {}): Promise<{ page: Page; faults: string[] }> {
    const page = await (await browser.newContext(options)).newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    page.on('request', (request) => !request.url().startsWith(edge.url) && faults.push(request.url()))
    await page.goto(`${edge.url}/${hash}`)
    return { page, faults }
  }

  async function ask(page: Page, question: string): Promise<void> {
    await page.getByLabel('Question').fill(question)
    await page.keyboard.press('Enter')
  }

  /** What axe finds wrong, by rule and element. */
  async function violations(page: Page): Promise<string[]> {
    await page.evaluate(axe.source)
    return page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: any[] }> } }
      const { violations } = await axe.run()
      return violations.flatMap(({ id, nodes }) => nodes.map((node: any) => `${id}: ${node.html}`))
    })
  }

  test('shows the answer, and beside it the run with its parallel calls; the address leads to a call again', async () => {
    const { page, faults } = await open()
    await ask(page, WEATHER)
    await page.getByRole('status').filter({ hasText: 'completed' }).waitFor()
    const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem')
    const names = await rows.locator('.name').allInnerTexts()
    expect(names.map((name) => name.trim().split(/\s/)[0])).toEqual([
      'Step',
      'currentTime',
      'Step',
      'forecast',
      'forecast',
      'Step',
    ])
    await rows.filter({ hasText: 'Oslo' }).getByRole('link').click()
    await page.getByRole('group', { name: 'Result' }).getByText('Oslo').waitFor()
    const other = await open(new URL(page.url()).hash)
    await other.page.getByRole('group', { name: 'Result' }).getByText('Oslo').waitFor()
    expect(await other.page.getByLabel('Conversation').innerText()).toContain(WEATHER)
    expect(await violations(other.page)).toEqual([])
    expect([...faults, ...other.faults]).toEqual([])
  })

  test('goes on with a run that waits after a reload, and approves its call from the page of all approvals', async () => {
    const { page, faults } = await open()
    await ask(page, MAIL)
    await page.getByRole('form', { name: 'Approve sendMail?' }).waitFor()
    await page.reload()
    await page.getByRole('form', { name: 'Approve sendMail?' }).waitFor()
    const chat = page.url()
    await page.getByRole('link', { name: 'Approvals' }).click()
    const form = page.getByRole('form', { name: 'Approve sendMail?' })
    await form.getByText('ada@example.com').waitFor()
    expect(await violations(page)).toEqual([])
    await form.getByLabel('Reason').fill('Looks right')
    await page.keyboard.press('Enter')
    await page.getByText('was approved').waitFor()
    await page.goto(chat)
    await page.getByText('I sent “Hi” to ada@example.com.').waitFor()
    expect(faults).toEqual([])
  })

  test('stores a definition, calls it by a form, edits it, and shows what the version changed', async () => {
    const { page, faults } = await open('#/define')
    const definition = {
      description: HOSTILE,
      inputSchema: { type: 'object', properties: { [HOSTILE]: { type: 'string', description: HOSTILE } } },
      static: { text: HOSTILE },
    }
    await page.getByLabel('Name').fill('hostile')
    await page.getByLabel('Definition').fill(JSON.stringify(definition))
    await page.getByRole('button', { name: 'Store' }).click()
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('group', { name: 'Result' }).getByText(HOSTILE).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Edit' }).click()
    await expect.poll(() => page.getByLabel('Definition').inputValue()).toContain('static')
    await page.getByLabel('Definition').fill(JSON.stringify({ ...definition, static: { text: 'calm' } }, null, 2))
    await page.getByRole('button', { name: 'Store' }).click()
    await page.getByText('What changed').click()
    await page.locator('ins').filter({ hasText: 'calm' }).waitFor()
    await page.getByRole('button', { name: 'Roll back to this' }).click()
    await page.getByText('rollback').waitFor()
    expect(await page.title()).toBe('Edgecall studio')
    expect(faults).toEqual([])
  })

  test('shows what a person, a model and a tool write as text, whatever markup is in it', async () => {
    const { page, faults } = await open()
    await ask(page, `What is the weather in "${HOSTILE}"?`)
    await page
      .getByRole('status')
      .filter({ hasText: /completed|failed/ })
      .waitFor()
    expect(await page.getByLabel('Conversation').innerText()).toContain(HOSTILE)
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.title()).toBe('Edgecall studio')
    expect(faults).toEqual([])
  })

  test('is used with the keyboard alone on a phone, in the dark', async () => {
    const { page } = await open('', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
    await page.getByLabel('Question').waitFor()
    await page.keyboard.type('What time is it in Tokyo?')
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'completed' }).waitFor()
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(`document.activeElement.matches('.row-call a')`)) break
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'currentTime' }).waitFor()
    const width = await page.evaluate(`document.documentElement.scrollWidth`)
    expect(width).toBe(390)
    expect(await violations(page)).toEqual([])
  })
})
