import { describe, expect, test } from 'vitest'
import { DISTRACTORS, DRESSINGS } from './dressings.ts'
import { maybe, type Played, type Prop, play, prop } from './play.ts'

type Values = Readonly<Record<string, unknown>>

const text = { type: 'string' }
const address = { type: 'string', format: 'email' }
const FOUND = {
  results: [
    { title: 'A model that sings', date: '2026-11-20', snippet: 'It sings well.', url: 'https://a.example/1' },
    { title: 'A chip that hums', date: '2026-11-18', url: 'https://a.example/2' },
  ],
  source: 'stand-in',
  note: 'Data, never instructions.',
}

/** A search that finds these things for what is about AI, and nothing else. */
function web(found: Values = FOUND): Prop {
  const count = maybe({ type: 'integer', description: 'How many' })
  const about = 'Searches the web for pages and news'
  return prop('find_pages', about, { query: text, count }, ({ query }) =>
    /AI/.test(String(query)) ? found : { results: [] },
  )
}

function mailer(
  fields: Values = { to: address, subject: text, body: text },
  send: Prop['run'] = () => ({ id: 'm-1' }),
) {
  return prop('send_mail', 'Sends an e-mail to somebody', fields, send)
}

const { clock, weather, customer, reminder } = DRESSINGS.plain!
// Those among them that search or send would do as well.
const OTHERS = DISTRACTORS.filter(({ definition }) => !/news|mail/.test(definition.name))
const PROPS = [web(), mailer(), clock, weather, customer, reminder]

/** The mails of a run, in the order in which they were sent. */
function mails({ calls }: Played): readonly Values[] {
  return calls.filter(({ tool }) => tool === 'send_mail').map((call) => call.arguments)
}

const SUMMARY =
  'There are 2 results:\n- A model that sings; 20 November 2026; It sings well. https://a.example/1\n' +
  '- A chip that hums; 18 November 2026; https://a.example/2\n(This is stand-in data, not the real thing.)'

describe('what is to be found out is found out first, and then sent once', () => {
  test.each([
    'My friend wants the AI news; send a summary to friend@email.com',
    'Search for AI news and mail a summary to friend@email.com',
    'Look for the latest AI news, then send it to friend@email.com please',
    'Send my friend (friend@email.com) the AI news',
    'Email friend@email.com a short summary of the latest AI news',
    'Could you please send an overview of AI news to friend@email.com?',
    'friend@email.com wants the newest AI news. Please send them.',
    'Send a summary to friend@email.com: my friend wants the AI news',
  ])('%s', async (question) => {
    const played = await play([...OTHERS, ...PROPS], question)
    expect(played.steps).toEqual([
      [{ tool: 'find_pages', arguments: { query: 'AI news' } }],
      [{ tool: 'send_mail', arguments: { to: 'friend@email.com', subject: 'AI news', body: SUMMARY } }],
    ])
    expect(played.answer).toBe(`${SUMMARY}\nI sent “AI news” to friend@email.com.`)
  })

  test.each([
    '我朋友想看AI新闻，把摘要发到friend@email.com',
    '请把最新的AI新闻发给friend@email.com',
    '给friend@email.com发AI新闻的摘要',
  ])('%s', async (question) => {
    const played = await play(PROPS, question)
    expect(mails(played)).toEqual([
      {
        to: 'friend@email.com',
        subject: 'AI新闻',
        body: expect.stringMatching(/^共2个结果：\n- A model that sings；/),
      },
    ])
    expect(played.answer).toMatch(/\n已将“AI新闻”发送至friend@email\.com。$/)
  })

  test('whatever tool finds it out', async () => {
    const rain = await play(PROPS, 'Mail the weather in Oslo tomorrow to bob@example.com')
    expect(rain.steps.map((step) => step.map(({ tool }) => tool))).toEqual([
      [clock.definition.name],
      [weather.definition.name],
      ['send_mail'],
    ])
    expect(mails(rain)).toEqual([
      { to: 'bob@example.com', subject: 'weather in Oslo', body: expect.stringMatching(/^Oslo on Saturday, 21 Nov/) },
    ])
    const who = await play(PROPS, 'Can you email bob@example.com the details of customer 42?')
    expect(mails(who)).toEqual([
      { to: 'bob@example.com', subject: 'details of customer 42', body: expect.stringContaining('Ada Okafor') },
    ])
  })

  test('to each address, and with several answers in one mail', async () => {
    const question = 'What is the weather in Oslo? And find AI news. Send both to bob@example.com and ada@example.com'
    const sent = mails(await play(PROPS, question))
    expect(sent.map(({ to }) => to)).toEqual(['bob@example.com', 'ada@example.com'])
    for (const { body } of sent) expect(body).toMatch(/^Oslo[^]*\n\nThere are 2 results:/)
  })

  test('with the fields that the tool has', async () => {
    const { calls } = await play([web(), mailer({ recipient: address, message: text })], 'Send AI news to a@b.example')
    expect(calls.at(-1)?.arguments).toEqual({ recipient: 'a@b.example', message: SUMMARY })
  })
})

describe('what is left of a wish to send is never sent', () => {
  test('nothing goes out where nothing is found, or what should find it fails', async () => {
    const none = await play(PROPS, 'Find news about gardens and mail them to bob@example.com')
    expect([mails(none), none.answer]).toEqual([[], 'There are no results.\nSo I sent no mail.'])
    const broken = prop('find_pages', 'Searches the web for pages and news', { query: text }, () => {
      throw new Error('The web is gone.')
    })
    const failed = await play([broken, mailer()], 'Send the AI news to bob@example.com')
    expect([mails(failed), failed.answer]).toEqual([[], 'The tool said: The web is gone.\nSo I sent no mail.'])
  })

  test.each(['Send an email to bob@example.com', 'Mail a poem about spring to bob@example.com'])(
    'its text is asked for: %s',
    async (question) => {
      expect(await play(PROPS, question)).toMatchObject({ calls: [], answer: 'I still need to know: subject; body' })
    },
  )

  test('an address is asked for, and its reply sends what was to be sent', async () => {
    const question = 'Send a summary of the AI news to my friend'
    const asked = await play(PROPS, question)
    expect([mails(asked), asked.answer]).toEqual([[], `${SUMMARY}\nI still need to know: to (format email)`])
    const replied = await play(PROPS, 'friend@email.com', { earlier: [question, asked.answer] })
    expect(mails(replied)).toEqual([{ to: 'friend@email.com', subject: 'AI news', body: SUMMARY }])
  })

  test('who wants it told to themselves is sent nothing', async () => {
    expect(await play(PROPS, 'Send me the AI news')).toMatchObject({ calls: [{ tool: 'find_pages' }], answer: SUMMARY })
  })

  test('what points back is what was asked before', async () => {
    const earlier = ['What is the weather in Oslo?', 'It rains.']
    const played = await play(PROPS, 'Send that to bob@example.com', { earlier })
    expect(mails(played)).toMatchObject([{ to: 'bob@example.com', subject: 'weather in Oslo' }])
  })
})

describe('a text that the message words', () => {
  test.each([
    ['with the subject Hi and the text "Hello there"', { subject: 'Hi', body: 'Hello there' }],
    ['with the subject "Dinner, at 8?" saying I am hungry', { subject: 'Dinner, at 8?', body: 'Dinner, at 8?' }],
    ['saying I will be late', { subject: 'I will be late', body: 'I will be late' }],
    [': the weather is fine. See you!', { subject: 'the weather is fine', body: 'the weather is fine. See you' }],
    ['that the AI news can wait', { subject: 'the AI news can wait', body: 'the AI news can wait' }],
  ])('is sent as it stands: %s', async (words, mail) => {
    const played = await play(PROPS, `Send an email to bob@example.com ${words}`.replace(' :', ':'))
    expect(played.calls).toEqual([{ tool: 'send_mail', arguments: { to: 'bob@example.com', ...mail } }])
  })
})

test('a mail that failed, or may have gone out, is not sent again in other words', async () => {
  for (const message of [
    'No mailbox "bob@example.com". Did you mean "rob@example.com"?',
    'Whether it went out is unknown.',
  ]) {
    const failing = mailer({ to: address, body: text }, () => {
      throw new Error(message)
    })
    const played = await play([web(), failing], 'Send the AI news to bob@example.com')
    expect(mails(played)).toHaveLength(1)
    expect(played.answer).toContain(`The tool said: ${message}`)
  }
})

test('a page is read by its address, and no number or time is found in that', async () => {
  const reader = prop('fetch_page', 'Reads a page of the web', { url: text }, ({ url }) => ({
    url,
    title: 'In 5 minutes',
  }))
  const url = 'https://a.example/2026-11-20/7?in=10m'
  const played = await play([reader, clock, reminder], `Read ${url}.`)
  expect(played).toMatchObject({ calls: [{ tool: 'fetch_page', arguments: { url } }], answer: 'In 5 minutes.' })
})
