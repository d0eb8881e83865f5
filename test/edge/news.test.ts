import { expect, test as anyTest } from 'vitest'
import { npmStart } from './npm-start.ts'
import { hasSamples, readEvents } from './stage.ts'

/** These tests are about sample tools, and are skipped when one of them is deleted. */
const test = anyTest.runIf(hasSamples('mail', 'web'))

const QUESTION = 'Send a mail to friend@email.com with the subject "AI news" and the text "Nothing new today."'

const edge = npmStart()

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<any> {
  const response = await fetch(edge.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return response.json()
}

/** A run of the question that waits for a person: its path, and the call that waits. */
async function waiting(key: string, conversation?: string) {
  const id = conversation ?? (await post('/conversations', {})).id
  const run = await post(`/conversations/${id}/runs`, { input: QUESTION }, { 'idempotency-key': key })
  expect(run).toMatchObject({
    status: 'waiting',
    calls: [{ tool: 'sendMail', status: 'approval', arguments: { to: 'friend@email.com', subject: 'AI news' } }],
  })
  const path = `/conversations/${id}/runs/${run.id}`
  return { id, path, mail: run.calls[0] }
}

/** What a run came to once a person has decided on its mail. */
async function decided(path: string, mail: { id: string }, decision: 'approve' | 'reject'): Promise<any> {
  await post(`${path}/calls/${mail.id}`, { decision })
  await readEvents(await fetch(`${edge.url}${path}/events`))
  return (await fetch(edge.url + path)).json()
}

async function sentMails(): Promise<Record<string, string>[]> {
  const { structured } = await post('/tools/listSent/call', { arguments: {} })
  return structured.mails
}

test('a mail is sent once after approval, however often the request is sent', async () => {
  const { id, path, mail } = await waiting('news-1')
  expect(await waiting('news-1', id)).toMatchObject({ path, mail: { id: mail.id } })
  expect(await sentMails()).toEqual([])

  const run = await decided(path, mail, 'approve')
  expect(run).toMatchObject({ status: 'completed', calls: [{ status: 'settled' }] })
  expect(run.answer).toContain('friend@email.com')
  const mails = [{ to: 'friend@email.com', subject: 'AI news', text: mail.arguments.text, source: 'stand-in' }]
  expect(mail.arguments.text).toBe('Nothing new today.')
  expect(await sentMails()).toMatchObject(mails)

  const repeat = await post(`/conversations/${id}/runs`, { input: QUESTION }, { 'idempotency-key': 'news-1' })
  expect(repeat).toEqual(run)
  expect(await sentMails()).toHaveLength(1)
})

test('nothing is mailed if a person rejects it or nobody can approve it', async () => {
  const before = await sentMails()
  const { path, mail } = await waiting('news-2')
  const refusal = await decided(path, mail, 'reject')
  expect(refusal).toMatchObject({ status: 'completed', calls: [{ ok: false }] })
  expect(refusal.answer).not.toContain('I sent')
  const alone = await post('/runs', { input: QUESTION })
  expect(alone).toMatchObject({ status: 'completed', answer: expect.stringMatching(/needs approval by a person/) })
  expect(await sentMails()).toEqual(before)
})

test('search results can be read, and only public addresses', async () => {
  const { structured: found } = await post('/tools/webSearch/call', { arguments: { query: 'AI news', maxResults: 1 } })
  const { structured: page } = await post('/tools/readPage/call', { arguments: { url: found.results[0].url } })
  expect(page).toMatchObject({ url: found.results[0].url, source: 'stand-in' })
  expect(page.text).toContain(found.results[0].snippet)
  const pendingCalls = ['https://127.0.0.1/', 'http://example.com/', 'https://news.stand-in.example/inside'].map(
    (address) => post('/tools/readPage/call', { arguments: { url: address } }),
  )
  for (const refusal of await Promise.all(pendingCalls))
    expect(refusal).toMatchObject({ error: { code: 'page_refused' } })
})
