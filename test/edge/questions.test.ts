import { expect, test as anyTest } from 'vitest'
import { npmStart } from './npm-start.ts'
import { hasSamples } from './stage.ts'

/** These tests are about sample tools, and are skipped when one of them is deleted. */
const test = anyTest.runIf(
  hasSamples('clock', 'calculator', 'alarm', 'weather', 'web', 'customers', 'mail', 'bookings'),
)

const edge = npmStart()

async function ask(
  input: string,
  rest: object = {},
): Promise<{ calls: [tool: string, args: unknown][]; answer: string }> {
  const response = await fetch(`${edge.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input, context: { timeZone: 'Europe/Berlin' }, ...rest }),
  })
  const run = (await response.json()) as any
  return { calls: run.calls.map((call: any) => [call.tool, call.arguments]), answer: run.answer }
}

/** A day in Berlin, some days from now, as `YYYY-MM-DD`. */
function day(offset: number): string {
  return new Date(Date.now() + offset * 86_400_000).toLocaleDateString('sv-SE', { timeZone: 'Europe/Berlin' })
}

test.each([
  ['What time is it in Tokyo?', ['currentTime', { timeZone: 'Asia/Tokyo' }], /\d\d:\d\d.*Tokyo/],
  ['What is the square root of 475695037565?', ['squareRoot', { number: 475695037565 }], /689706\.486532/],
  ['Remind me in 10 minutes to stretch', ['setAlarm', { time: expect.any(String), message: 'stretch' }], /stretch/],
  ['Will it rain in Copenhagen tomorrow?', ['forecast', { place: 'Copenhagen', date: day(1) }], /stand-in/],
  ['明天是多少号？', ['currentTime', {}], new RegExp(`${Number(day(1).slice(-2))}日`)],
  ['十分钟后提醒我', ['setAlarm', { time: expect.any(String), message: expect.any(String) }], /提醒/],
  ['长春天气怎么样？', ['forecast', expect.objectContaining({ place: '长春' })], /长春/],
] as const)('the offline model answers: %s', async (question, call, answer) => {
  const result = await ask(question)
  expect(result.calls.at(-1)).toEqual(call)
  expect(result.answer).toMatch(answer)
})

test('without tools, the offline model says that it cannot tell what day is tomorrow', async () => {
  const { calls, answer } = await ask('What day is tomorrow?', { tools: [] })
  expect(calls).toEqual([])
  expect(answer).toMatch(/cannot/)
})

test('customer 42 is found for the tenant of the key and for no other', async () => {
  const question = 'Tell me more about the customer with ID 42'
  const own = await ask(question)
  expect(own.calls).toEqual([['getCustomer', { id: 42 }]])
  expect(own.answer).toContain('Ada')
  const globex = await ask(question, { context: { tenantId: 'globex' } })
  expect(globex.answer).not.toMatch(/Ada|Mateo/)
})

test('a mail is not sent if nobody can approve it', async () => {
  const { calls, answer } = await ask(
    'Send a mail to friend@example.com with the subject Hi and the text "Hello there"',
  )
  expect(calls.map(([tool]) => tool)).toEqual(['sendMail'])
  expect(answer).toMatch(/needs approval by a person/)
})
