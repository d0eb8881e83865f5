import { readFile } from 'node:fs/promises'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Download, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium, missingChromium } from '../fixtures/chromium.ts'
import { npmStart } from './npm-start.ts'
import { hasSamples } from './stage.ts'

const WEATHER = 'What is the weather in Paris and in Oslo tomorrow?'
const MAIL = 'Send a mail to ada@example.com with subject "Hi" saying "Hello there"'
const RUNS = 500
const STEPS = 200
const TOOLS = 1020

/** Answers for a conversation with many runs, of which the last has many steps. */
async function serveLongConversation(page: Page): Promise<void> {
  const runs = Array.from({ length: RUNS }, (_, index) => ({
    ...{ id: `run_${index}`, status: 'completed', created: 1000 * index, ended: 1000 * index + 500 },
    ...{ conversation: 'conv_long', question: `Question ${index}`, model: 'test/model', cost: 0 },
    ...{ tools: ['look'], errors: [] },
  }))
  const messages = runs.flatMap(({ id }, index) => [
    { position: 2 * index, run: id, message: { role: 'user', content: `Question ${index}` } },
    { position: 2 * index + 1, run: id, message: { role: 'assistant', content: `Answer ${index}. `.repeat(40) } },
  ])
  const events: object[] = [{ type: 'run.started', at: 0, model: 'test/model', tools: ['look'] }]
  for (let step = 1; step <= STEPS; step++) {
    const call = {
      callId: `call_${step}`,
      tool: 'look',
      arguments: JSON.stringify({ page: step, of: 'a'.repeat(200) }),
    }
    const at = step * 100
    const isGone = step === 50
    events.push(
      { type: 'step.started', step, at },
      ...(step === 150 ? [{ type: 'model.retried', step, code: 'model_rate_limited', durationMs: 5, at: at + 5 }] : []),
      ...'Let me look at it.'.split(' ').map((text) => ({ type: 'text.delta', step, text: `${text} ` })),
      { type: 'step.answered', step, text: 'Let me look at it.', calls: [call], finish: 'tool_calls', at: at + 10 },
      { type: 'call.started', ...call, step, attempt: 1, at: at + 10 },
      {
        ...{ type: 'call.settled', callId: call.callId, tool: 'look', ok: !isGone, at: at + 60 },
        ...{ durationMs: step === 100 ? 80 : 50 },
        ...(isGone
          ? { error: { code: 'gone', message: 'The page is gone.' } }
          : { content: [{ type: 'text', text: JSON.stringify({ found: step }) }] }),
      },
      { type: 'step.finished', step, finish: 'tool_calls' },
    )
  }
  const usage = { inputTokens: 1, outputTokens: 1 }
  events.push({ type: 'run.finished', status: 'completed', finish: 'stop', answer: 'Done.', usage, at: 20_200 })
  const frames = events.map((event, index) => {
    const data = { ...event, runId: 'run_499', seq: index + 1 }
    return `event: ${(event as { type: string }).type}\nid: run_499.${index + 1}\ndata: ${JSON.stringify(data)}\n\n`
  })
  await page.route('**/conversations/conv_long/runs/*/faults', (route) => route.fulfill({ json: { faults: [] } }))
  await page.route('**/conversations/conv_long/messages?**', (route) => route.fulfill({ json: messages }))
  await page.route('**/conversations/conv_long/runs/*/events', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: frames.join('') }),
  )
  await page.route(/\/runs\?/, (route) => {
    const query = new URL(route.request().url()).searchParams
    if (!query.has('status')) return route.fulfill({ json: [] })
    const all = runs.toReversed()
    const before = all.findIndex(({ id }) => id === query.get('before'))
    return route.fulfill({ json: all.slice(before + 1, before + 1 + Number(query.get('limit'))) })
  })
  await page.route('**/conversations/conv_long/runs?**', (route) => route.fulfill({ json: runs }))
  const tools = Array.from({ length: TOOLS }, (_, index) => ({
    ...{ name: `tool_${String(index).padStart(4, '0')}`, description: `Tool ${index}`, source: 'kv', place: 'TOOLS' },
    ...{ available: true, offered: index >= 15 },
  }))
  await page.route(/\/tools\?/, (route) => {
    const after = new URL(route.request().url()).searchParams.get('after') ?? ''
    return route.fulfill({ json: tools.filter(({ name }) => name > after).slice(0, 1000) })
  })
}

/** The beginnings of the names of rows of a timeline, without what is said of the call. */
function rowNames(texts: readonly string[]): string[] {
  return texts.map((text) => /^(?:\d+ Model|look|.*steps)/.exec(text.replaceAll(/\s+/g, ' ').trim())?.[0] ?? text)
}

async function contents(file: Download): Promise<string> {
  return readFile(await file.path(), 'utf8')
}

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

if (missingChromium) test.skip(`the studio is not tested in a browser: ${missingChromium}`)

describe.skipIf(missingChromium)('the studio in Chromium', () => {
  const edge = missingChromium ? { url: '' } : npmStart()
  let browser: Browser

  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterAll(() => browser?.close())

  /** Opens a page of the studio; `prepare` is given it before. Whatever the browser complains of is a fault. */
  async function open(
    hash = '',
    options: BrowserContextOptions = {},
    prepare: (page: Page) => Promise<unknown> = async () => {},
  ): Promise<{ page: Page; faults: string[] }> {
    const page = await (await browser.newContext({ reducedMotion: 'reduce', ...options })).newPage()
    page.setDefaultTimeout(200_000)
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
      await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor()
      const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem')
      const names = async () => {
        const texts = await rows.locator('.nm').allInnerTexts()
        return texts.map((text) => text.replaceAll(/\s+/g, ' ').trim().split(',')[0])
      }
      await expect
        .poll(names)
        .toEqual([
          '1 Model asks for 1 call',
          'currentTime',
          '2 Model asks for 2 calls',
          'forecast Paris',
          'forecast Oslo',
          '3 Model answers',
        ])
      await rows.filter({ hasText: 'Oslo' }).getByRole('link').click()
      await page.getByRole('group', { name: 'Result' }).getByText('Oslo').waitFor()
      await rows.filter({ hasText: 'Model' }).last().getByRole('link').press('Enter')
      await page.getByText('Request to the model').press('Enter')
      await page.getByText(/^Requests are not stored/).waitFor()
      await page.getByRole('heading', { name: '6 messages' }).waitFor()
      expect(await page.getByRole('group', { name: 'Messages' }).innerText()).toContain(WEATHER)
      expect(await page.getByRole('group', { name: 'Tools' }).innerText()).toContain('currentTime')
      expect(await violations(page)).toEqual([])
      await page.goBack()
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
      await form.getByRole('group', { name: 'Arguments', exact: true }).getByText('ada@example.com').waitFor()
      expect(await violations(page)).toEqual([])
      await form.getByText('Cannot be undone.').waitFor()
      const facts = await form.locator('.facts').innerText()
      expect(facts).toContain('The rule of the tool: every call needs approval')
      expect(facts).toMatch(/tenant local, at \d\d:\d\d/)
      await form.getByLabel('Note to the model').fill('Looks right')
      await page.keyboard.press('Enter')
      const changed = { to: 'grace@example.com', subject: 'Hi', text: 'Hello there' }
      await form.getByRole('button', { name: 'JSON' }).click()
      await form.getByLabel('Arguments as JSON').fill(JSON.stringify({ ...changed, to: 'ada@example.com' }))
      await form.getByRole('button', { name: 'Approve', exact: true }).waitFor()
      await form.getByLabel('Arguments as JSON').fill(JSON.stringify(changed))
      await form.getByRole('button', { name: 'Approve with changes' }).click()
      const card = page.getByRole('group', { name: 'Decision about sendMail' })
      await card.getByText('was approved').waitFor()
      expect(await card.getByRole('heading').innerText()).toMatch(/^Approved with changes, \d\d:\d\d$/)
      expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Approved with changes/)
      expect(await violations(page)).toEqual([])
      await page.goto(chat)
      await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor()
      await page.getByRole('list', { name: 'Timeline' }).getByRole('link', { name: 'sendMail' }).click()
      await page.getByText('Approved with changed arguments by local').waitFor()
      expect(faults).toEqual([])
    },
  )

  test('a double click decides one call alone: the decided card stays, and nothing moves under the pointer', async () => {
    const call = (id: string, to: string) => ({
      ...{ id, run: 'run_a', conversation: 'conv_a', tool: 'pay', arguments: { to }, argumentsHash: id, since: 1000 },
      ...{ caller: { tenant: 'acme', key: 'shop' }, because: 'tool', expires: Date.now() + 30 * 60_000 },
      definition: { title: 'Pay', description: 'Pays.', annotations: { destructive: true }, version: '1', hash: 'h' },
    })
    const waiting = [call('call_1', 'Ada'), call('call_2', 'Bob')]
    const decided: string[] = []
    const { page, faults } = await open('#/approvals', {}, async (opening) => {
      await opening.route('**/approvals', (route) =>
        route.fulfill({ json: waiting.filter(({ id }) => !decided.includes(id)) }),
      )
      await opening.route('**/tools/pay', (route) => route.fulfill({ json: { name: 'pay', source: 'TOOL_BANK' } }))
      await opening.route('**/runs/run_a/events', (route) =>
        route.fulfill({ contentType: 'text/event-stream', body: '' }),
      )
      await opening.route(/run_a\/calls\/call_\d$/, (route) => {
        const id = route.request().url().split('/').at(-1) ?? ''
        if (route.request().method() === 'POST') decided.push(id)
        return route.fulfill({ json: waiting.find((each) => each.id === id) })
      })
    })
    await page.getByText('Expire within the hour').waitFor()
    const approve = page.getByRole('button', { name: 'Approve', exact: true })
    await approve.waitFor()
    const box = await approve.boundingBox()
    const [x, y] = [(box?.x ?? 0) + 5, (box?.y ?? 0) + 5]
    // Observers run right after the page has changed, before anything is painted.
    await page.evaluate(`new MutationObserver(() => {
      if (document.body.textContent.includes('the run continues.')) focused ??= document.activeElement.textContent
    }).observe(document.body, { childList: true, subtree: true, characterData: true }), globalThis.focused = undefined`)
    await page.mouse.dblclick(x, y)
    await page.getByText('Pay: Ada was approved; the run continues.').waitFor()
    expect(await page.evaluate('focused')).toMatch(/^Approved, \d\d:\d\d$/)
    await page.mouse.click(x, y)
    expect(decided).toEqual(['call_1'])
    await page.getByRole('region', { name: 'Queue' }).getByText('Approved', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Open run' }).waitFor()
    await page.getByRole('link', { name: 'Next in the queue' }).click()
    await page.getByRole('heading', { name: 'Pay: Bob?' }).waitFor()
    expect(decided).toEqual(['call_1'])
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('shows answers as Markdown, loads no image, and has the raw text', async () => {
    const answer = `**Three** orders\n\n| Order | Days |\n| --- | --: |\n| 48190 | 6 |\n\n\`\`\`js\nconst a = 1\n\`\`\`\n\n- one\n- ${HOSTILE}\n\n![logo](https://example.com/l.png) [bad](javascript:alert(1))`
    const runs = [{ id: 'run_m', status: 'completed', created: 1000, ended: 2000 }]
    const messages = [
      { position: 1, run: 'run_m', message: { role: 'user', content: 'Which orders?' } },
      { position: 2, run: 'run_m', message: { role: 'assistant', content: answer } },
    ]
    const usage = { inputTokens: 1, outputTokens: 1 }
    const events = [
      { type: 'run.started', at: 1000, model: 'test/model', tools: [] },
      { type: 'step.started', step: 1, at: 1000 },
      { type: 'step.answered', step: 1, text: answer, calls: [], finish: 'stop', at: 1900, usage },
      { type: 'run.finished', status: 'completed', finish: 'stop', answer, usage, at: 2000 },
    ].map(
      (event, index) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, runId: 'run_m', seq: index + 1 })}\n\n`,
    )
    const { page, faults } = await open('#/c/conv_m', {}, async (opening) => {
      await opening.route('**/conversations/conv_m/runs?**', (route) => route.fulfill({ json: runs }))
      await opening.route('**/conversations/conv_m/messages?**', (route) => route.fulfill({ json: messages }))
      await opening.route('**/conversations/conv_m/usage', (route) => route.fulfill({ json: usage }))
      await opening.route('**/conversations/conv_m/runs/run_m/events', (route) =>
        route.fulfill({ contentType: 'text/event-stream', body: events.join('') }),
      )
    })
    const log = page.getByRole('log')
    await log.getByRole('cell', { name: '48190' }).waitFor()
    expect(await log.locator('strong').innerText()).toBe('Three')
    expect(await log.locator('pre .k').innerText()).toBe('const')
    expect(await log.getByRole('listitem').filter({ hasText: 'onerror' }).innerText()).toContain(HOSTILE)
    expect(await log.locator('img').count()).toBe(0)
    expect(
      await log.locator('.prose a').evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
    ).toEqual(['https://example.com/l.png'])
    expect(await violations(page)).toEqual([])
    await log.getByRole('button', { name: 'Raw text' }).click()
    await log.getByText('**Three** orders').waitFor()
    expect(await page.title()).toBe('Edgecall studio')
    expect(faults).toEqual([])
  })

  test('says that the edge cannot be reached and when it is tried again, and clears its word afterwards', async () => {
    const { page } = await open('#/runs', {}, (each) => each.clock.install())
    await page.getByLabel('Search runs').waitFor()
    await page.context().setOffline(true)
    await page.getByLabel('Search runs').fill('lost')
    const banner = page.getByRole('alert').filter({ hasText: 'No connection to the edge.' })
    await banner.getByText(/Trying again in \d+ s\./).waitFor()
    expect(await violations(page)).toEqual([])
    // From here on, no timer of the page fires: it does not try again by itself, only the click does.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000))
    // The connection is back when the click tries it, and not before: an attempt under way would find it first.
    await page.route('**/health', async (route) => {
      await page.context().setOffline(false)
      await route.continue()
    })
    await banner.getByRole('button', { name: 'Try now' }).click()
    await banner.waitFor({ state: 'detached' })
  })

  test('stores a definition, calls it by a form, edits it, and shows what the version changed', async () => {
    const { page, faults } = await open('#/define')
    const definition = {
      description: HOSTILE,
      inputSchema: { type: 'object', properties: { [HOSTILE]: { type: 'string', description: HOSTILE } } },
      static: { text: HOSTILE },
    }
    await page.getByLabel('Name', { exact: true }).fill('hostile')
    const check = page.getByRole('region', { name: 'Check' })
    await page.getByLabel('Definition').fill(JSON.stringify({ ...definition, static: { text: 5 } }))
    await check.getByText('expected either { text } or { structured }').waitFor()
    await page.getByLabel('Definition').fill(JSON.stringify(definition))
    await check.getByText('Valid. Saving it adds a tool.').waitFor()
    await check.getByText('Try it before it is saved').click()
    await check.getByRole('button', { name: 'Call', exact: true }).click()
    await check.getByRole('group', { name: 'Result' }).getByText(HOSTILE).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByLabel('Offer it by default').check()
    await page.getByRole('button', { name: 'Save tool' }).click()
    await page.getByRole('link', { name: 'Edit' }).waitFor()
    await page.getByText('Offered by default', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('group', { name: 'Result' }).getByText(HOSTILE).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Edit' }).click()
    await expect.poll(() => page.getByLabel('Definition').inputValue()).toContain('static')
    await page.getByLabel('Definition').fill(JSON.stringify({ ...definition, static: { text: 'calm' } }, null, 2))
    await page.getByRole('button', { name: 'Save tool' }).click()
    await page.getByText('On request', { exact: true }).waitFor()
    await page.getByText('What changed').click()
    await page.locator('ins').filter({ hasText: 'calm' }).waitFor()
    await page.getByRole('button', { name: 'Roll back to this' }).click()
    await page.getByText('rollback').waitFor()
    expect(await page.title()).toBe('Edgecall studio')
    expect(faults).toEqual([])
    // Offered by default, the tool would be on offer in the tests after this one.
    expect((await page.request.delete(new URL('/tools/hostile', page.url()).href)).ok()).toBe(true)
  })

  test.runIf(hasSamples('clock'))(
    'shows which tools a model chooses for questions with the stored description and with another one',
    async () => {
      const { page, faults } = await open('#/tools/currentTime', { viewport: { width: 390, height: 844 } })
      await page.getByText('Try its description with questions').click()
      await page.getByRole('button', { name: 'Ask the model' }).press('Enter')
      await page.getByText('Write at least one question.').waitFor()
      await page
        .getByLabel('Questions, one a line')
        .fill(`What time is it in Tokyo?\n\nWhat is the price of bread? ${HOSTILE}\n`)
      await page.getByLabel('Description to try').fill('Returns the price of bread.')
      await page.getByRole('button', { name: 'Ask the model' }).press('Enter')
      await page.getByRole('status').filter({ hasText: 'Asked 2 questions' }).waitFor()
      const rows = page.getByRole('region', { name: 'What the model chose' }).getByRole('row')
      expect(await rows.first().getByRole('columnheader').allInnerTexts()).toEqual([
        'Question',
        'Stored description',
        'Description to try',
      ])
      const cells = await rows.getByRole('cell').allInnerTexts()
      expect(cells.map((text) => text.replace(/“.*”/s, '“…”'))).toEqual([
        'currentTime',
        'currentTime',
        'No tool: “…”',
        'currentTime',
      ])
      expect(await page.evaluate(`document.documentElement.scrollWidth`)).toBe(390)
      expect(await violations(page)).toEqual([])
      expect(faults).toEqual([])
    },
  )

  test('shows the policies that hold for a tool, and those of the tool that an alias calls', async () => {
    const policies = [
      {
        pattern: 'look_*',
        policy: { approval: 'always', scopes: ['finance'], tenants: [], annotations: { private: true } },
      },
      {
        pattern: HOSTILE,
        tool: 'look',
        policy: { rate: 'RATE_LOOK', timeoutMs: 5000, hosts: [], annotations: { readOnly: false } },
      },
    ]
    const tool = {
      name: 'look_up',
      source: 'service',
      place: 'TOOL_LOOK',
      available: true,
      description: 'Looks.',
      policies,
    }
    const { page, faults } = await open('#/tools/look_up', {}, (opening) =>
      opening.route('**/tools/look_up', (route) => route.fulfill({ json: tool })),
    )
    await page.getByRole('region', { name: 'Policy look_*' }).getByText('finance').waitFor()
    const rules = page.getByRole('region', { name: /^Policy / })
    const terms = await rules.locator('dt').allInnerTexts()
    const values = await rules.locator('dd').allInnerTexts()
    expect(terms.map((term, index) => `${term} ${values[index]}`)).toEqual([
      'Approval always',
      'Needs the scopes finance',
      'For the tenants none',
      'Data flow and effects private',
      'Rate RATE_LOOK',
      'Time limit 5.0 s',
      'May reach no host',
      'Data flow and effects not readOnly',
    ])
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('asks again in a branch and compares the two runs, exports a conversation and deletes it', async () => {
    const { page, faults } = await open()
    await ask(page, 'What time is it in Tokyo?')
    await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor()
    await ask(page, 'And in Oslo?')
    await page.getByRole('status').filter({ hasText: 'Completed' }).nth(1).waitFor()
    await page.getByRole('button', { name: 'Ask again' }).nth(1).click()
    await page.getByRole('button', { name: 'Ask and compare' }).click()
    const sides = page.getByRole('region', { name: /^(?:First|Second) run$/ })
    await expect.poll(() => sides.locator('.nm.d0').count()).toBeGreaterThan(1)
    expect(await violations(page)).toEqual([])
    await sides.nth(1).getByRole('heading').getByRole('link').click()
    await page.getByText('From another chat').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^conv_\w+\.jsonl$/)
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.innerText()).toContain('edgecall rewind')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    expect(faults).toEqual([])
  })

  test.runIf(hasSamples('clock'))(
    'makes a case for eval of a turn, gives the request of a step as a command that asks the same, and shows the chosen columns',
    async () => {
      const { page, faults } = await open('', { permissions: ['clipboard-read', 'clipboard-write'] })
      const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
      await ask(page, 'What time is it in Tokyo?')
      await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor()
      await page.getByRole('button', { name: 'Copy as eval case' }).click()
      const dialog = page.getByRole('dialog', { name: 'Copy as eval case' })
      const text = dialog.getByRole('textbox', { name: 'Case' })
      const draft = JSON.parse(await text.inputValue())
      expect(draft).toMatchObject({ question: 'What time is it in Tokyo?', calls: [{ tool: 'currentTime' }] })
      expect(Object.keys(draft)).toEqual(['question', 'calls', 'results', 'answer'])
      expect(await violations(page)).toEqual([])
      await text.fill('{')
      await dialog.getByText('This is not a JSON object.').waitFor()
      await text.fill(JSON.stringify({ ...draft, answer: ['Tokyo'] }, null, 2))
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        dialog.getByRole('button', { name: 'Download' }).click(),
      ])
      expect(saved.suggestedFilename()).toBe('cases.jsonl')
      await dialog.getByRole('button', { name: 'Copy case' }).click()
      await dialog.getByText('Copied').waitFor()
      expect(await copied()).toBe(JSON.stringify({ ...draft, answer: ['Tokyo'] }))
      expect(await contents(saved)).toBe(`${await copied()}\n`)
      await page.keyboard.press('Escape')

      await page.getByRole('link', { name: 'Open run' }).first().click()
      const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem')
      await rows.filter({ hasText: 'Model' }).first().getByRole('link').click()
      await page.getByText('Answer of the model').click()
      await page.getByRole('group', { name: 'Answer' }).getByText('tool_calls').waitFor()
      await page.getByText('Request to the model').click()
      await page.getByRole('button', { name: 'Copy as cURL' }).click()
      await page.getByText('Copied').waitFor()
      const command = await copied()
      const [, url = '', body = ''] = /^curl '([^']+)' .* -d '(.*)'$/s.exec(command) ?? []
      expect(url).toBe(`${edge.url}/runs`)
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: body.replaceAll("'\\''", "'"),
      })
      expect(await answer.json()).toMatchObject({
        status: 'completed',
        finish: 'tool_calls',
        calls: [{ tool: 'currentTime' }],
      })

      await page.goto(`${edge.url}/#/runs`)
      const heads = () => page.getByRole('table', { name: 'Runs' }).getByRole('columnheader').allInnerTexts()
      await expect.poll(heads).toContain('Tools or fault')
      await page.getByText('Columns', { exact: true }).click()
      await page.getByLabel('Tools or fault').uncheck()
      await page.getByLabel('Run', { exact: true }).check()
      expect(await violations(page)).toEqual([])
      const chosen = ['Status', 'Question', 'Model', 'Steps', 'Time', 'Tokens', 'Cost', 'Key', 'Run', 'Started']
      await expect.poll(heads).toEqual(chosen)
      await page.reload()
      await expect.poll(heads).toEqual(chosen)
      await page.getByText('Columns', { exact: true }).click()
      await page.getByRole('button', { name: 'Show the default columns' }).click()
      await expect.poll(heads).toContain('Tools or fault')
      expect(faults).toEqual([])
    },
  )

  test.runIf(hasSamples('clock'))(
    'lists runs in a table: filters by question, tool, error and status, counts and sorts, all of it in the address',
    async () => {
      const { page, faults } = await open()
      await ask(page, 'What time is it in Tokyo?')
      await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor()
      await page.getByRole('link', { name: 'New chat' }).click()
      await ask(page, 'What time is it in Atlantis?')
      await page
        .getByRole('status')
        .filter({ hasText: /Completed|Failed/ })
        .waitFor()
      await page.getByRole('link', { name: 'Runs', exact: true }).click()
      const rows = page.getByRole('table', { name: 'Runs' }).locator('tbody tr')
      await rows.filter({ hasText: 'Atlantis' }).first().waitFor()
      expect(await page.getByRole('columnheader').allInnerTexts()).toEqual([
        ...['Status', 'Question', 'Tools or fault', 'Model', 'Steps', 'Time', 'Tokens', 'Cost', 'Key', 'Started'],
      ])
      await page
        .getByRole('group', { name: 'Status' })
        .getByText(/^All \d+$/)
        .waitFor()
      await page.getByLabel('Search runs').fill('TOKYO')
      await expect.poll(() => rows.filter({ hasText: 'Atlantis' }).count()).toBe(0)
      await rows.filter({ hasText: 'Tokyo' }).first().waitFor()
      expect(await violations(page)).toEqual([])
      await page.getByRole('group', { name: 'Status' }).getByRole('link', { name: 'Failed' }).click()
      await page.getByText('No failed run about “TOKYO”').waitFor()
      const other = await open(new URL(page.url()).hash)
      await other.page.getByText('No failed run about “TOKYO”').waitFor()
      expect(await other.page.getByLabel('Search runs').inputValue()).toBe('TOKYO')
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await page.getByText('Filter', { exact: true }).click()
      await page.getByLabel('Tool', { exact: true }).fill('currentTime')
      await rows.filter({ hasText: 'Tokyo' }).first().waitFor()
      await page.getByLabel('Error code').fill('no_such_code')
      await page.getByText('No run with currentTime with the error no_such_code').waitFor()
      await page.getByRole('textbox', { name: 'Error code' }).press('Escape')
      await page.getByRole('button', { name: 'Remove the filter Error code' }).click()
      await page.getByRole('button', { name: 'Tokens' }).click()
      await expect.poll(() => page.url()).toContain('sort%3Dtokens')
      await page.locator('th[aria-sort=descending]').filter({ hasText: 'Tokens' }).waitFor()
      // The rows before are shown until those in the new order have arrived.
      const isSorted = async () => {
        const tokens = (await rows.locator('td:nth-child(7)').allInnerTexts()).map(Number)
        return tokens.every((each, at) => at === 0 || each <= (tokens[at - 1] ?? 0))
      }
      await expect.poll(isSorted).toBe(true)
      await rows.first().getByRole('link').press('ArrowDown')
      expect(
        await rows
          .nth(1)
          .getByRole('link')
          .evaluate((link) => link.matches(':focus')),
      ).toBe(true)
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'Open chat' }).waitFor()
      expect([...faults, ...other.faults]).toEqual([])
    },
  )

  test('follows a run on after a reload in the middle of it', async () => {
    const { page, faults } = await open()
    await ask(page, WEATHER)
    await page.waitForURL(/#\/c\/conv_\w+\/run_/)
    await page.reload()
    await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor()
    await page.getByRole('list', { name: 'Timeline' }).getByRole('listitem').first().waitFor()
    expect(faults).toEqual([])
  })

  test('draws few rows of 500 runs, of a run of 200 steps and of 1,020 tools, and reaches all of them', async () => {
    const { page, faults } = await open('', {}, (opening) => serveLongConversation(opening))
    await page.goto(`${edge.url}/#/run/conv_long/run_499`)
    const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem')
    // Steps that are alike are folded, but for the one that failed, the one that was retried and the slowest.
    await expect
      .poll(() => rows.locator('.nm').allInnerTexts().then(rowNames))
      .toEqual([
        ...['1–49 49 similar steps', '50 Model', 'look', '51–99 49 similar steps', '100 Model', 'look'],
        ...['101–149 49 similar steps', '150 Model', 'look', '151–200 50 similar steps'],
      ])
    await page.getByRole('button', { name: 'Failed 1' }).click()
    await page.getByText('The page is gone.').first().waitFor()
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByRole('button', { name: 'Failed 1' }).click()
    await page.getByRole('button', { name: /^Slowest/ }).click()
    await expect.poll(() => page.url()).toMatch(/call_100$/)
    await rows.first().getByRole('button').click()
    await expect.poll(() => rows.count()).toBe(10 + 98)
    await page.getByRole('button', { name: 'Zoom in' }).click()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.goto(`${edge.url}/#/runs/status=completed`)
    const runs = page.getByRole('table', { name: 'Runs' }).locator('tbody tr')
    await expect.poll(() => runs.count()).toBe(60)
    const shownRows = await runs.evaluateAll(
      (all) => all.filter((row) => row.getBoundingClientRect().bottom < 777).length,
    )
    expect(shownRows).toBe(25)
    for (let count = 120; count <= 480; count += 60) {
      await page.getByRole('button', { name: 'Show older runs' }).click()
      await expect.poll(() => runs.count()).toBe(count)
    }
    await page.goto(`${edge.url}/#/tools`)
    await page.getByText('1,020, of them 1,005 offered by default').waitFor()
    const tools = page.getByRole('region', { name: 'All tools' }).getByRole('link')
    expect(await tools.count()).toBe(150)
    const list = page.locator('.items')
    await expect
      .poll(async () => {
        await list.evaluate((element) => (element.scrollTop = element.scrollHeight))
        return tools.count()
      })
      .toBe(1020)
    expect(faults).toEqual([])
  })

  test('shows the turn of the run to which a link leads, above later turns', async () => {
    const { page } = await open()
    await serveLongConversation(page)
    await page.goto(new URL('#/c/conv_long/run_480', page.url()).href)
    const turn = page.getByRole('article', { name: 'Question 480' })
    await turn.waitFor()
    const isInView = () =>
      turn.evaluate((element) => {
        const [box, view] = [element, element.closest('[role=log]')].map((each) => each?.getBoundingClientRect())
        return box !== undefined && view !== undefined && box.top < view.bottom && box.bottom > view.top
      })
    await expect.poll(isInView).toBe(true)
  })

  test('reports an unknown conversation, and links to the runs', async () => {
    const { page } = await open('#/c/none/run_none')
    await page.getByRole('alert').getByText('unknown_conversation').waitFor()
    await page.getByRole('link', { name: 'All runs' }).click()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    expect(await violations(page)).toEqual([])
  })

  test('asks for a key if the edge requires one, says why one was refused, and keeps it only in the tab', async () => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(200_000)
    const problem = { status: 401, code: 'unauthorized', detail: 'Send a valid key: Authorization: Bearer …' }
    const expired = { status: 401, code: 'key_expired', detail: 'This key has expired.' }
    await page.route('**/caller', (route) => {
      const bearer = route.request().headers()['authorization']
      if (bearer === 'Bearer ek_secret') return route.continue()
      const body = JSON.stringify(bearer === 'Bearer ek_old' ? expired : problem)
      return route.fulfill({ status: 401, contentType: 'application/problem+json', body })
    })
    await page.goto(edge.url)
    await page.getByText(/asks for an API key\./).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(await page.getByRole('navigation').count()).toBe(0)
    const tryKey = async (key: string) => {
      await page.getByLabel('API key').fill(key)
      await page.getByRole('button', { name: 'Use key' }).click()
    }
    await tryKey('ek_wrong')
    await page.getByRole('alert').getByText('This key was not accepted.').waitFor()
    await tryKey('ek_old')
    await page.getByRole('alert').getByText('This key has expired.').waitFor()
    expect(await violations(page)).toEqual([])
    await tryKey('ek_secret')
    await page.getByLabel('Question').waitFor()
    const storage = await page.evaluate('[Object.values(sessionStorage), localStorage.length, document.cookie]')
    expect(storage).toEqual([['ek_secret'], 0, ''])
  })

  test('shows only what the scopes of a key allow, and names the scope that is missing', async () => {
    const caller = { tenant: 'acme', key: 'desk', scopes: ['tools:read'], currency: 'EUR' }
    const refuse = (scope: string) => ({
      status: 403,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        ...{ status: 403, code: 'missing_scope', detail: `This request needs a key with the scope "${scope}".` },
      }),
    })
    const { page } = await open('#/tools', {}, async (opening) => {
      await opening.route('**/caller', (route) => route.fulfill({ json: caller }))
      await opening.route('**/runs?**', (route) => route.fulfill(refuse('chat')))
      await opening.route('**/usage?**', (route) => route.fulfill(refuse('metrics')))
    })
    await page.getByRole('link', { name: 'currentTime' }).waitFor()
    const entries = page.getByRole('navigation').locator('ul').first().getByRole('link')
    await expect.poll(() => entries.allInnerTexts()).toEqual(['Tools'])
    expect(await page.getByRole('link', { name: 'Write a tool' }).count()).toBe(0)
    await page.getByRole('link', { name: 'currentTime' }).click()
    await page.getByText('Input schema').waitFor()
    expect(await page.getByRole('button', { name: 'Call', exact: true }).count()).toBe(0)
    await page.goto(`${edge.url}/#/runs`)
    await page.getByRole('alert').getByText('It lacks the scope chat.').waitFor()
    expect(await violations(page)).toEqual([])
    await page.goto(`${edge.url}/#/usage`)
    await page.getByRole('alert').getByText('It lacks the scope metrics.').waitFor()
    await page.goto(`${edge.url}/#/approvals`)
    await page.getByText('It lacks the scope approve.').waitFor()
    await page.getByRole('link', { name: 'desk' }).click()
    await page.getByText('In use: desk of the tenant acme.').waitFor()
  })

  test('shows what differs in a tool that is held back, and accepts it', async () => {
    const changedTool = {
      name: 'look_up',
      source: 'mcp',
      place: 'TOOL_MCP',
      available: false,
      reason: 'It is held back.',
    }
    const before = { name: 'look_up', description: 'Looks it up.', inputSchema: { type: 'object' } }
    const now = { ...changedTool, ...before, description: `Looks it up. ${HOSTILE}`, hash: 'new', accepted: 'old' }
    const requests: unknown[] = []
    const answerForTool = async (page: Page) => {
      await page.route('**/tools?limit=1000*', (route) =>
        route.fulfill({ json: requests.length > 0 ? [{ ...now, available: true }] : [now] }),
      )
      await page.route('**/tools/look_up/versions/old', (route) => route.fulfill({ json: before }))
      await page.route('**/tools/look_up/accept', (route) => {
        requests.push(route.request().postDataJSON())
        return route.fulfill({ json: { name: 'look_up', hash: 'new' } })
      })
    }
    const { page, faults } = await open('', {}, answerForTool)
    await page.getByRole('link', { name: 'Tools', exact: true }).click()
    await page.getByText('1 tool, 1 not available').waitFor()
    await page.getByRole('link', { name: 'Approvals' }).click()
    await page.getByRole('region', { name: 'Queue' }).getByRole('link', { name: 'look_up' }).click()
    const form = page.getByRole('region', { name: 'Accept look_up?' })
    await form.locator('del').waitFor()
    expect(await form.locator('del').allInnerTexts()).toEqual(['−   "description": "Looks it up.",\n'])
    expect(await form.locator('ins').innerText()).toContain('<img src=x')
    await form.getByRole('button', { name: 'Accept today’s version' }).click()
    await form.waitFor({ state: 'detached' })
    expect(requests).toEqual([{ hash: 'new' }])
    expect(faults).toEqual([])
  })

  test.each([
    ['wide and light', { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }],
    ['narrow and dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ] as const)('says what each application needs for this edge, and never the key: %s', async (_name, look) => {
    const secret = 'ek_never_shown'
    const { page, faults } = await open(
      '#/connect',
      { ...look, permissions: ['clipboard-read', 'clipboard-write'] },
      (each) => each.addInitScript((key) => sessionStorage.setItem('edgecall-key', key), secret),
    )
    await page.getByRole('link', { name: 'Codex' }).click()
    const [model = ''] = await page.getByLabel('Model').locator('option').allTextContents()
    const settings = page.locator('pre[aria-label="~/.codex/config.toml"]')
    expect(await settings.allTextContents()).toEqual([
      [
        `model = "${model}"`,
        'model_provider = "edgecall"\n',
        '[model_providers.edgecall]',
        'name = "Edgecall"',
        `base_url = "${edge.url}/v1"`,
        'env_key = "EDGECALL_KEY"',
        'wire_api = "responses"\n',
      ].join('\n'),
      `[mcp_servers.edgecall]\nurl = "${edge.url}/mcp"\nbearer_token_env_var = "EDGECALL_KEY"\n`,
    ])
    await page.getByRole('button', { name: 'Copy address', exact: true }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(edge.url)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(look.viewport.width)
    expect(await violations(page)).toEqual([])
    expect(await page.content()).not.toContain(secret)
    if (look.viewport.width < 600) await page.getByRole('link', { name: 'Applications' }).click()
    await page.getByRole('link', { name: 'Continue' }).waitFor()
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('shows the texts of people, models and tools as text, whatever markup they contain', async () => {
    const { page, faults } = await open()
    await ask(page, `What is the weather in "${HOSTILE}"?`)
    await page
      .getByRole('status')
      .filter({ hasText: /Completed|Failed/ })
      .waitFor()
    expect(await page.getByRole('log').innerText()).toContain(HOSTILE)
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.title()).toBe('Edgecall studio')
    expect(faults).toEqual([])
  })

  test.runIf(hasSamples('clock'))('is usable with the keyboard alone on a phone in dark mode', async () => {
    const { page } = await open('', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
    await page.getByLabel('Question').waitFor()
    await page.keyboard.type('What time is it in Tokyo?')
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor()
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(`document.activeElement.matches('.chip')`)) break
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'currentTime' }).waitFor()
    await page.getByRole('link', { name: 'Back to the timeline' }).waitFor()
    const width = await page.evaluate(`document.documentElement.scrollWidth`)
    expect(width).toBe(390)
    expect(await violations(page)).toEqual([])
  })
})
