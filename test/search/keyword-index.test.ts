import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { definitionOf } from './definitions.ts'
import { TOOLS } from './questions.ts'

async function find(tools: readonly ToolDefinition[], text: string, limit = 5): Promise<readonly string[]> {
  const index = createKeywordIndex()
  await index.add(tools)
  return (await index.search(text, limit)).map(({ name }) => name)
}

const definitionsNamed = (...names: readonly string[]) =>
  names.map((name) => definitionOf({ name, description: 'Something else.' }))

describe('names', () => {
  test.each([
    ['get_user_profile', 'user profile'],
    ['getUserProfile', 'user profile'],
    ['get-user-profile', 'user profile'],
    ['UserProfileGet', 'user profile'],
    ['HTTPServerStart', 'http server'],
    ['s3_put_object', 'S3'],
    ['utf8_decode', 'utf8'],
    ['parsePDFs', 'pdf'],
    ['github_search', 'GitHub'],
    ['git_hub_search', 'GitHub'],
    ['wordCloud', 'wordcloud'],
    ['wordcloud', 'word cloud'],
  ])('%s is found by %s', async (name, text) => {
    expect(await find(definitionsNamed('other_thing', name, 'next_matter'), text)).toEqual([name])
  })

  test('rank the tool of exactly that name first', async () => {
    const tools = definitionsNamed('list_users_admin', 'users_list', 'list_users', 'list_users_by_group')
    for (const { name } of tools) expect((await find(tools, name))[0]).toBe(name)
  })

  test('count more than titles, and these more than descriptions and parameters', async () => {
    const inputSchema = { type: 'object', properties: { invoice: { type: 'string' } } }
    const tools = [
      definitionOf({ name: 'first', inputSchema }),
      definitionOf({ name: 'second', description: 'Sends an invoice.' }),
      definitionOf({ name: 'third', title: 'Invoice', description: 'Sends it.' }),
      definitionOf({ name: 'send_invoice', description: 'Sends it.' }),
    ]
    const matches = await find(tools, 'invoice')
    expect([matches.slice(0, 2), matches.slice(2).toSorted()]).toEqual([
      ['send_invoice', 'third'],
      ['first', 'second'],
    ])
  })
})

test('the server or Worker of a tool is searched', async () => {
  const tools = [
    { ...definitionOf({ name: 'list_issues', description: 'Lists issues.' }), group: 'github' },
    { ...definitionOf({ name: 'list_tickets', description: 'Lists issues.' }), group: 'jira cloud' },
  ]
  expect(await find(tools, 'issues in jira')).toEqual(['list_tickets', 'list_issues'])
  expect(await find(tools, 'github')).toEqual(['list_issues'])
})

test('a question in Chinese is read to its end, and pairs with particles are no words', async () => {
  const tools = [
    definitionOf({ name: 'file_write', description: '用于将内容写入指定文件。' }),
    definitionOf({ name: 'meeting_book', description: '预订会议室，并通知参加的人。' }),
    // It has pairs of the question with particles, and no word of it.
    definitionOf({ name: 'letter_send', description: '请帮我写信。' }),
  ]
  const preface =
    '上个星期我们团队刚刚搬到新的办公楼，大家都很高兴，但是还不熟悉周围的环境，附近有很多咖啡馆和餐厅，楼下停车也比以前方便，'
  expect(await find(tools, `${preface}所以请帮我预订明天下午的会议室。`)).toEqual(['meeting_book'])
})

test('particles and pleasantries of Chinese do not count', async () => {
  const tools = [
    definitionOf({ name: 'a', description: '我的你的他的，请帮我' }),
    definitionOf({ name: 'b', description: '查询天气' }),
  ]
  expect(await find(tools, '请你查一下天气的')).toEqual(['b'])
})

test('tags, enum values and nested parameters are searched', async () => {
  const nested = {
    type: 'object',
    properties: {
      order: {
        type: 'array',
        items: {
          anyOf: [{ type: 'object', properties: { topping: { enum: ['pineapple'], description: 'On the pizza' } } }],
        },
      },
    },
  }
  const tools = [definitionOf({ name: 'a', tags: ['billing'] }), definitionOf({ name: 'b', inputSchema: nested })]
  expect(await find(tools, 'billing')).toEqual(['a'])
  expect(await find(tools, 'pineapple')).toEqual(['b'])
  expect(await find(tools, 'topping')).toEqual(['b'])
  expect(await find(tools, 'pizza')).toEqual(['b'])
})

test.each([
  ['cities', 'city'],
  ['booking', 'book'],
  ['stopped', 'stop'],
  ['translation', 'translator'],
  ['boxes', 'box'],
  ['photo', 'photographs'],
  ['Wetter', 'wettervorhersage'],
])('%s finds %s', async (question, word) => {
  expect(await find(definitionsNamed('other_thing', word), question)).toEqual([word])
})

describe('misspellings', () => {
  test.each(['forcast', 'forecsat', 'forecaast', 'forecest'])('%s finds forecast', async (question) => {
    expect(await find(definitionsNamed('forecast', 'other_thing'), question)).toEqual(['forecast'])
  })

  test('never make the index replace a word that exists by another', async () => {
    expect(await find(definitionsNamed('message_send', 'massage_book'), 'massage')).toEqual(['massage_book'])
  })

  test('rank below other forms, which rank above longer words', async () => {
    const tools = definitionsNamed('translator_x', 'translates_x', 'translate_x')
    expect(await find(tools, 'translate')).toEqual(['translate_x', 'translates_x', 'translator_x'])
  })
})

test.each([
  ['天气', '查询天气', '发送邮件'],
  ['天氣預報', '取得天氣預報', '寄送郵件'],
  ['東京の天気', '天気を調べる', 'メールを送る'],
  ['날씨를', '현재 날씨 조회', '메일 보내기'],
  ['พยากรณ์', 'ดูพยากรณ์อากาศ', 'ส่งอีเมล'],
  ['прогноза', 'Прогноз погоды', 'Отправить письмо'],
  ['météo', 'Prévisions METEO', 'Envoyer un message'],
])('%s finds “%s”', async (question, description, other) => {
  const tools = [definitionOf({ name: 'other', description: other }), definitionOf({ name: 'wanted', description })]
  expect(await find(tools, question)).toEqual(['wanted'])
})

test('only the host and the ending of paths and addresses in a question count', async () => {
  const tools = definitionsNamed('list_home_data', 'read_pdf', 'github_fork')
  expect(await find(tools, '/home/ann/data/list.pdf')).toEqual(['read_pdf'])
  expect(await find(tools, 'https://github.com/home/data')).toEqual(['github_fork'])
})

test('ids in a question are not split', async () => {
  const tools = definitionsNamed('sc_list', 'camera_show')
  expect(await find(tools, "camera 'YgSC7KRZI'")).toEqual(['camera_show'])
})

test('stop words count only if a question has no other words', async () => {
  const tools = definitionsNamed('get_it', 'weather')
  expect(await find(tools, 'can you please get me the weather')).toEqual(['weather'])
  expect(await find(tools, 'get')).toEqual(['get_it'])
})

test('a question finds nothing without a matching word', async () => {
  expect(await find(definitionsNamed('weather'), '')).toEqual([])
  expect(await find(definitionsNamed('weather'), '?! \u0000 🙂')).toEqual([])
  expect(await find(definitionsNamed('weather'), 'zebra')).toEqual([])
  expect(await find([], 'weather')).toEqual([])
  expect(await find(definitionsNamed('weather'), 'weather', 0)).toEqual([])
})

test('equally good tools are sorted by name, and at most the requested number is returned', async () => {
  expect(await find(definitionsNamed('c_mail', 'a_mail', 'd_mail', 'b_mail'), 'mail', 3)).toEqual([
    'a_mail',
    'b_mail',
    'c_mail',
  ])
})

test('a tool that is added again replaces the old one', async () => {
  const index = createKeywordIndex()
  await index.add([definitionOf({ name: 'a', description: 'Sends mail.' })])
  expect((await index.search('mail', 5)).length).toBe(1)
  await index.add([definitionOf({ name: 'a', description: 'Reads news.' })])
  expect(await index.search('mail', 5)).toEqual([])
  expect((await index.search('news', 5)).map(({ name }) => name)).toEqual(['a'])
})

test('an index answers the same however tools were added and removed', async () => {
  const all = TOOLS.map(([name, description]) => definitionOf({ name, description }))
  const names = fc.uniqueArray(fc.integer({ min: 0, max: all.length - 1 }), { minLength: 1, maxLength: 60 })
  const steps = fc.array(fc.record({ add: names, remove: names, search: fc.boolean() }), { maxLength: 5 })
  const of = (numbers: readonly number[]) => numbers.flatMap((number) => all[number] ?? [])
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const changed = createKeywordIndex()
      const remaining = new Map<string, ToolDefinition>()
      for (const { add, remove, search } of steps) {
        await changed.add(of(add))
        for (const tool of of(add)) remaining.set(tool.name, tool)
        if (search) await changed.search('price of a hotel', 5)
        await changed.remove(of(remove).map(({ name }) => name))
        for (const { name } of of(remove)) remaining.delete(name)
      }
      const fresh = createKeywordIndex()
      await fresh.add([...remaining.values()])
      for (const text of ['price of a hotel', 'create calendar event', '天气', 'searching flihgts']) {
        const [a, b] = [await changed.search(text, 10), await fresh.search(text, 10)]
        expect(a.map(({ name, score }) => [name, score.toFixed(9)])).toEqual(
          b.map(({ name, score }) => [name, score.toFixed(9)]),
        )
      }
    }),
    { numRuns: 60 },
  )
})

test('any text can be searched without an error', async () => {
  const index = createKeywordIndex()
  await index.add(TOOLS.map(([name, description]) => definitionOf({ name, description })))
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 100 }), async (text) => {
      const matches = await index.search(text, 5)
      expect(matches.length).toBeLessThanOrEqual(5)
      for (const { score } of matches) expect(score).toBeGreaterThan(0)
    }),
  )
})

describe('a long question', () => {
  const words = Array.from(
    { length: 200 },
    (_, at) => `subject${String.fromCharCode(97 + (at % 26), 97 + Math.floor(at / 26))}`,
  )

  test('counts by its first 64 words', async () => {
    const tools = definitionsNamed(...words)
    const matches = await find(tools, words.join(' '), 1000)
    expect([...matches].sort()).toEqual(words.slice(0, 64).sort())
  })

  test('for which many tools match lists the rest after the first 50, in the order of their scores', async () => {
    const tools = Array.from({ length: 300 }, (_, at) =>
      definitionOf({ name: `tool_${at}`, description: words.slice(at % 20, (at % 20) + 12).join(' ') }),
    )
    const index = createKeywordIndex()
    await index.add(tools)
    const matches = await index.search(words.slice(0, 40).join(' '), 1000)
    expect(new Set(matches.map(({ name }) => name)).size).toBe(300)
    const rest = matches.slice(50).map(({ score }) => score)
    expect(rest).toEqual(rest.toSorted((a, b) => b - a))
  })
})
