import axe from 'axe-core'
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium, missingChromium } from '../fixtures/chromium.ts'
import { npmStart } from './npm-start.ts'
import { hasSamples } from './stage.ts'

const WEATHER = 'What is the weather in Paris and in Oslo tomorrow?'
const MAIL = 'Send a mail to ada@example.com with subject "Hi" saying "Hello there"'
const RUNS = 500
const STEPS = 200

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
    events.push(
      { type: 'step.started', step, at },
      ...'Let me look at it.'.split(' ').map((text) => ({ type: 'text.delta', step, text: `${text} ` })),
      { type: 'step.answered', step, text: 'Let me look at it.', calls: [call], finish: 'tool_calls', at: at + 10 },
      { type: 'call.started', ...call, step, attempt: 1, at: at + 10 },
      {
        ...{ type: 'call.settled', callId: call.callId, tool: 'look', ok: true, durationMs: 50, at: at + 60 },
        content: [
          { type: 'text', text: JSON.stringify({ found: step, rows: Array.from({ length: 20 }, (_, id) => id) }) },
        ],
      },
      { type: 'step.finished', step, finish: 'tool_calls' },
    )
  }
  const usage = { inputTokens: 1, outputTokens: 1 }
  events.push({ type: 'run.finished', status: 'completed', finish: 'stop', answer: 'Done.', usage })
  const frames = events.map((event, index) => {
    const data = { ...event, runId: 'run_499', seq: index + 1 }
    return `event: ${(event as { type: string }).type}\nid: run_499.${index + 1}\ndata: ${JSON.stringify(data)}\n\n`
  })
  await page.route('**/conversations/conv_long/runs?**', (route) => route.fulfill({ json: runs }))
  await page.route('**/conversations/conv_long/messages?**', (route) => route.fulfill({ json: messages }))
  await page.route('**/conversations/conv_long/runs/*/events', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: frames.join('') }),
  )
  await page.route('**/runs?latest=false**', (route) => route.fulfill({ json: runs.toReversed() }))
}

/** How much of the processor each task of the page took, in milliseconds: a busy machine makes none of them longer. */
async function longTasks(client: CDPSession): Promise<number[]> {
  const tasks: number[] = []
  client.on('Tracing.dataCollected', ({ value }) => {
    for (const { name, tdur } of value as unknown as { name: string; tdur?: number }[])
      if (name === 'ThreadControllerImpl::RunTask' && tdur !== undefined) tasks.push(tdur / 1000)
  })
  await new Promise<void>((resolve) => client.on('Tracing.tracingComplete', () => resolve()))
  if (tasks.length === 0) throw new Error('This Chromium reports no tasks')
  return tasks
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
    const page = await (await browser.newContext(options)).newPage()
    page.setDefaultTimeout(100_000)
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
      await rows.filter({ hasText: 'Step' }).last().getByRole('link').press('Enter')
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
      await form.getByText('ada@example.com').waitFor()
      expect(await violations(page)).toEqual([])
      await form.getByText('It is destructive').waitFor()
      await page.getByText(', asked by local').waitFor()
      await form.getByLabel('Reason').fill('Looks right')
      await page.keyboard.press('Enter')
      await form.getByRole('button', { name: 'Change arguments' }).click()
      const changed = { to: 'grace@example.com', subject: 'Hi', text: 'Hello there' }
      await form.getByLabel('Changed arguments').fill(JSON.stringify(changed))
      await form.getByRole('button', { name: 'Approve with changes' }).click()
      await page.getByText('was approved').waitFor()
      await page.goto(chat)
      await page.getByRole('status').filter({ hasText: 'completed' }).waitFor()
      await page.getByRole('list', { name: 'Timeline' }).getByRole('link', { name: 'sendMail' }).click()
      await page.getByText(/^Approved with changed arguments.*: Looks right$/).waitFor()
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
    const check = page.getByRole('region', { name: 'Check' })
    await page.getByLabel('Definition').fill(JSON.stringify({ ...definition, static: { text: 5 } }))
    await check.getByText('expected either { text } or { structured }').waitFor()
    await page.getByLabel('Definition').fill(JSON.stringify(definition))
    await check.getByText('Valid. Storing it adds a tool.').waitFor()
    await check.getByText('Try it before it is stored').click()
    await check.getByRole('button', { name: 'Call', exact: true }).click()
    await check.getByRole('group', { name: 'Result' }).getByText(HOSTILE).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Store' }).click()
    await page.getByRole('link', { name: 'Edit' }).waitFor()
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
    const rules = page.getByRole('region', { name: /^Policy / }).locator('dl > div')
    expect((await rules.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))).toEqual([
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

  test.runIf(hasSamples('clock'))(
    'filters conversations at the edge by question, tool, error and status, with the filter in the address',
    async () => {
      const { page, faults } = await open()
      await ask(page, 'What time is it in Tokyo?')
      await page.getByRole('status').filter({ hasText: 'completed' }).waitFor()
      await page.getByRole('link', { name: 'New chat' }).click()
      await ask(page, 'What time is it in Atlantis?')
      await page
        .getByRole('status')
        .filter({ hasText: /completed|failed/ })
        .waitFor()
      await page.getByRole('link', { name: 'Conversations' }).click()
      const rows = page.getByRole('listitem')
      await rows.filter({ hasText: 'Atlantis' }).first().waitFor()
      await page.getByLabel('Search conversations').fill('TOKYO')
      await expect.poll(() => rows.filter({ hasText: 'Atlantis' }).count()).toBe(0)
      expect(await rows.filter({ hasText: 'Tokyo' }).count()).toBeGreaterThan(0)
      expect(await violations(page)).toEqual([])
      await page.getByLabel('Status').selectOption('failed')
      await page.getByText('None matches.').waitFor()
      const other = await open(new URL(page.url()).hash)
      await other.page.getByText('None matches.').waitFor()
      expect(await other.page.getByLabel('Search conversations').inputValue()).toBe('TOKYO')
      await page.getByLabel('Status').selectOption('')
      await page.getByLabel('Search conversations').fill('')
      await page.getByText('More filters').click()
      await page.getByLabel('Tool').fill('currentTime')
      await rows.filter({ hasText: 'Tokyo' }).first().waitFor()
      await page.getByLabel('Error code').fill('no_such_code')
      await page.getByText('None matches.').waitFor()
      expect([...faults, ...other.faults]).toEqual([])
    },
  )

  test('follows a run on after a reload in the middle of it', async () => {
    const { page, faults } = await open()
    await ask(page, WEATHER)
    await page.waitForURL(/#\/c\/conv_\w+\/run_/)
    await page.reload()
    await page.getByRole('status').filter({ hasText: 'completed' }).waitFor()
    await page.getByRole('list', { name: 'Timeline' }).getByRole('listitem').first().waitFor()
    expect(faults).toEqual([])
  })

  test('shows a conversation of 500 runs and a run of 200 steps in tasks of less than 100 ms', async () => {
    const { page } = await open('', {}, (opening) => serveLongConversation(opening))
    const client = await page.context().newCDPSession(page)
    const tasks = longTasks(client)
    await client.send('Tracing.start', {
      transferMode: 'ReportEvents',
      traceConfig: { includedCategories: ['toplevel'] },
    })
    await page.goto(`${edge.url}/#/c/conv_long/run_499`)
    const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem')
    await expect.poll(() => rows.count()).toBe(400)
    for (let turn = 0; turn < 4; turn++) await page.getByRole('log').evaluate((log) => log.scrollBy(0, -2000))
    await rows.nth(301).getByRole('link').click()
    await page.getByRole('heading', { name: 'look' }).waitFor()
    await page.goto(`${edge.url}/#/conversations/latest=false`)
    await expect.poll(() => page.getByRole('listitem').count()).toBe(500)
    await client.send('Tracing.end')
    expect((await tasks).filter((ms) => ms >= 100)).toEqual([])
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

  test('reports an unknown conversation, and links to the list of conversations', async () => {
    const { page } = await open('#/c/none/run_none')
    await page.getByRole('alert').getByText('unknown_conversation').waitFor()
    await page.getByRole('link', { name: 'All conversations' }).click()
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
    expect(await violations(page)).toEqual([])
  })

  test('asks for a key if the edge requires one, and keeps it only in the tab', async () => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(100_000)
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
    const storage = await page.evaluate('[Object.values(sessionStorage), localStorage.length, document.cookie]')
    expect(storage).toEqual([['ek_secret'], 0, ''])
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
      await page.route('**/tools?limit=1000', (route) =>
        route.fulfill({ json: requests.length > 0 ? [{ ...now, available: true }] : [now] }),
      )
      await page.route('**/tools/look_up/versions/old', (route) => route.fulfill({ json: before }))
      await page.route('**/tools/look_up/accept', (route) => {
        requests.push(route.request().postDataJSON())
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
    expect(requests).toEqual([{ hash: 'new' }])
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
