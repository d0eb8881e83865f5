import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { npmStart } from './npm-start.ts'
import { hasSamples } from './stage.ts'

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

  /** Opens a page of the studio; `prepare` is given it before. Whatever the browser complains of is a fault. */
  async function open(
    hash = '',
    options: BrowserContextOptions = {},
    prepare: (page: Page) => Promise<unknown> = async () => {},
  ): Promise<{ page: Page; faults: string[] }> {
    const page = await (await browser.newContext(options)).newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    page.on('request', (request) => !request.url().startsWith(edge.url) && faults.push(request.url()))
    await prepare(page)
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

  test.runIf(hasSamples('clock', 'weather'))(
    'shows the answer, and beside it the run with its parallel calls; the address leads to a call again',
    async () => {
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
      await other.page.getByRole('log').getByText(WEATHER).waitFor()
      expect(await violations(other.page)).toEqual([])
      expect([...faults, ...other.faults]).toEqual([])
    },
  )

  test.runIf(hasSamples('mail'))(
    'continues a waiting run after a reload, and approves its call on the page of approvals',
    async () => {
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
      await form.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('was approved').waitFor()
      await page.goto(chat)
      await page.getByRole('status').filter({ hasText: 'completed' }).waitFor()
      expect(faults).toEqual([])
    },
  )

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

  test('asks again in a branch and compares the two runs, exports a conversation and deletes it', async () => {
    const { page, faults } = await open()
    await ask(page, 'What time is it in Tokyo?')
    await page.getByRole('status').filter({ hasText: 'completed' }).waitFor()
    await ask(page, 'And in Oslo?')
    await page.getByRole('status').filter({ hasText: 'completed' }).nth(1).waitFor()
    await page.getByRole('button', { name: 'Ask again with…' }).nth(1).click()
    await page.getByRole('button', { name: 'Ask and compare' }).click()
    const sides = page.getByRole('region', { name: /^(?:First|Second) run$/ })
    await expect.poll(() => sides.locator('.row-step').count()).toBeGreaterThan(1)
    expect(await violations(page)).toEqual([])
    await sides.nth(1).getByRole('heading').getByRole('link').click()
    await page.getByText('from another conversation').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^conv_\w+\.jsonl$/)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
    expect(faults).toEqual([])
  })

  test('reports an unknown conversation, and links to the list of conversations', async () => {
    const { page } = await open('#/c/none/run_none')
    await page.getByRole('alert').getByText('unknown_conversation').waitFor()
    await page.getByRole('link', { name: 'All conversations' }).click()
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
    expect(await violations(page)).toEqual([])
  })

  test('asks for a key if the edge requires one, and keeps it only in the tab', async () => {
    const page = await (await browser.newContext()).newPage()
    const problem = { status: 401, code: 'unauthorized', detail: 'Send a valid key: Authorization: Bearer …' }
    await page.route('**/v1/models', (route) =>
      route.request().headers()['authorization'] === 'Bearer ek_secret'
        ? route.continue()
        : route.fulfill({ status: 401, contentType: 'application/problem+json', body: JSON.stringify(problem) }),
    )
    await page.goto(edge.url)
    await page.getByLabel('API key').fill('ek_secret')
    await page.getByRole('button', { name: 'Use' }).click()
    await page.getByLabel('Question').waitFor()
    const kept = await page.evaluate('[Object.values(sessionStorage), localStorage.length, document.cookie]')
    expect(kept).toEqual([['ek_secret'], 0, ''])
  })

  test('shows what differs in a tool that is held back, and accepts it', async () => {
    const held = { name: 'look_up', source: 'mcp', place: 'TOOL_MCP', available: false, reason: 'It is held back.' }
    const before = { name: 'look_up', description: 'Looks it up.', inputSchema: { type: 'object' } }
    const now = { ...held, ...before, description: `Looks it up. ${HOSTILE}`, hash: 'new', accepted: 'old' }
    const accepted: unknown[] = []
    const answerForTool = async (page: Page) => {
      await page.route('**/tools?limit=1000', (route) =>
        route.fulfill({ json: accepted.length > 0 ? [{ ...now, available: true }] : [now] }),
      )
      await page.route('**/tools/look_up/versions/old', (route) => route.fulfill({ json: before }))
      await page.route('**/tools/look_up/accept', (route) => {
        accepted.push(route.request().postDataJSON())
        return route.fulfill({ json: { name: 'look_up', hash: 'new' } })
      })
    }
    const { page, faults } = await open('', {}, answerForTool)
    await page.getByRole('link', { name: 'Tools' }).click()
    await page.getByText('1 not available').waitFor()
    await page.getByRole('link', { name: 'Approvals' }).click()
    const form = page.getByRole('region', { name: 'Accept look_up?' })
    await form.locator('del').waitFor()
    expect(await form.locator('del').allInnerTexts()).toEqual(['−   "description": "Looks it up.",\n'])
    expect(await form.locator('ins').innerText()).toContain('<img src=x')
    await form.getByRole('button', { name: 'Accept it as it is now' }).click()
    await page.getByText('No tool is held back.').waitFor()
    expect(accepted).toEqual([{ hash: 'new' }])
    expect(faults).toEqual([])
  })

  test('shows the texts of people, models and tools as text, whatever markup they contain', async () => {
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

  test.runIf(hasSamples('clock'))('is usable with the keyboard alone on a phone in dark mode', async () => {
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
