import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium, missingChromium } from '../fixtures/chromium.ts'
import { type Example, type Move, startExample } from './example.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe.skipIf(missingChromium)('the page of the example browser-chat, in Chromium', () => {
  let browser: Browser
  let script = ''

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [`${ROOT}examples/browser-chat/page/main.ts`],
      bundle: true,
      format: 'esm',
      write: false,
      nodePaths: [`${ROOT}test/node_modules`],
    })
    script = outputFiles[0]?.text ?? ''
    browser = await launchChromium()
  })
  afterAll(() => browser?.close())

  async function open({ url }: Example): Promise<Page> {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(200_000)
    await page.route('**/main.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
    await page.goto(url.href)
    return page
  }

  /** Waits until the page shows these lines, from the first one on, and returns all that it shows. */
  async function linesWith(page: Page, last: string | RegExp): Promise<string[]> {
    await page.locator('li p', { hasText: last }).last().waitFor()
    return page.locator('li p').allTextContents()
  }

  async function send(page: Page, text: string): Promise<void> {
    await page.getByLabel('Message').fill(text)
    await page.getByRole('button', { name: 'Send' }).click()
  }

  test('has all messages after a reload at any moment, and decides what waits', { timeout: 300_000 }, async () => {
    const [rolled, lucky] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const moves: readonly (() => Move | Promise<Move>)[] = [
      () => ({ tool: 'rollDice', arguments: { dice: 2 } }),
      () => rolled.promise.then(() => 'You rolled.'),
      () => ({ tool: 'placeBet', arguments: { amount: 10, number: 6 } }),
      () => lucky.promise.then(() => 'Good luck.'),
    ]
    const edge = await startExample('browser-chat', (_, index) => moves[index]?.() ?? 'No.', {
      edge: { IDENTITY_PROVIDERS: '[]' },
    })
    const page = await open(edge)
    expect(await page.locator('li').count()).toBe(0)

    await send(page, 'Roll two dice.')
    const rolls = /^rollDice: \{"rolls":\[\d,\d\]\}$/
    const [, roll] = await linesWith(page, rolls)
    await page.reload()
    expect(await linesWith(page, rolls)).toEqual(['Roll two dice.', roll])
    rolled.resolve()
    expect(await linesWith(page, 'You rolled.')).toEqual(['Roll two dice.', roll, 'You rolled.'])
    await page.reload()
    const before = await linesWith(page, 'You rolled.')
    expect(before).toEqual(['Roll two dice.', roll, 'You rolled.'])

    await send(page, 'Ten on six.')
    const waiting = [...before, 'Ten on six.', 'placeBet {"amount":10,"number":6}']
    expect(await linesWith(page, /^placeBet \{/)).toEqual(waiting)
    await page.reload()
    expect(await linesWith(page, /^placeBet \{/)).toEqual(waiting)
    await send(page, 'Or five?')
    const alert = page.getByRole('alert')
    await alert.filter({ hasText: 'waits' }).waitFor()
    expect(await alert.textContent()).toBe(
      'This chat waits for a decision about "placeBet". Approve or reject, then send the message again.',
    )
    const picture = process.env['PICTURE']
    if (picture) await page.screenshot({ path: picture })

    await page.reload()
    await page.getByRole('button', { name: 'Approve' }).click()
    const bet = [...before, 'Ten on six.', 'placeBet: "Bet 10 on 6."']
    expect(await linesWith(page, /^placeBet: "/)).toEqual(bet)
    await page.reload()
    expect(await linesWith(page, /^placeBet: "/)).toEqual(bet)
    lucky.resolve()
    expect(await linesWith(page, 'Good luck.')).toEqual([...bet, 'Good luck.'])
    await page.reload()
    expect(await linesWith(page, 'Good luck.')).toEqual([...bet, 'Good luck.'])
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expect(edge.model.calls).toHaveLength(4)
  })
})
