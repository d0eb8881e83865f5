import { describe, expect, test } from 'vitest'
import { createFinder } from '../../src/search/finder.ts'
import { createKeywordIndex, keywordIndex } from '../../src/search/keyword-index.ts'
import { encodeTerms } from '../../src/search/stored-terms.ts'
import { toolWords } from '../../src/search/tool-words.ts'
import { definitionOf } from './definitions.ts'
import { definitionOfRow } from './labelled.ts'
import { QUESTIONS, TOOLS } from './questions.ts'

const THIRTY = (
  [
    ['get_weather_forecast', 'Returns the weather of a city for the next days.'],
    ['send_email', 'Sends an email to a recipient.'],
    ['delete_file', 'Deletes a file.'],
    ['create_folder', 'Creates a folder.'],
    ['create_calendar_event', 'Adds an event to the calendar.'],
    ['set_alarm', 'Sets an alarm clock.'],
    ['list_invoices', 'Lists the invoices of a customer.'],
    ['cancel_order', 'Cancels an order.'],
    ['search_flights', 'Searches for flights between two airports.'],
    ['book_hotel', 'Books a hotel room.'],
    ['search_trains', 'Searches for trains and their tickets.'],
    ['plan_route', 'Plans a route on a map.'],
    ['translate_text', 'Translates a text into another language.'],
    ['summarize_document', 'Makes a summary of a document.'],
    ['generate_image', 'Draws a picture from a description.'],
    ['play_music', 'Plays a song.'],
    ['read_news', 'Returns the latest news.'],
    ['get_stock_price', 'Returns the price of a stock.'],
    ['convert_currency', 'Converts money at the exchange rate of today.'],
    ['reset_password', 'Resets the password of a user.'],
    ['query_database', 'Runs a query on a database.'],
    ['draw_chart', 'Draws a chart of data.'],
    ['add_task', 'Adds a task to the list.'],
    ['take_note', 'Saves a note.'],
    ['find_restaurant', 'Finds restaurants nearby.'],
    ['find_recipe', 'Finds recipes by ingredients.'],
    ['turn_on_light', 'Turns on a light at home.'],
    ['call_contact', 'Calls a contact by telephone.'],
    ['transfer_money', 'Transfers money to another bank account.'],
    ['track_package', 'Tracks the delivery of a package.'],
  ] as const
)
  .map(([name, description]) => definitionOf({ name, description }))
  .toSorted((a, b) => (a.name < b.name ? -1 : 1))

const nothing = async () => []
/** A finder that searches by the stored index of these tools. */
const STORED = createFinder(
  {
    list: async () => ({ tools: [], unavailable: [] }),
    offered: nothing,
    find: nothing,
    searchable: async () => ({ stored: encodeTerms(THIRTY), removed: [], texts: [] }),
  },
  undefined,
  { translate: toolWords },
)

describe('a question finds the tool that is described in English', () => {
  test.each([
    ['明天北京的天气怎么样？', 'get_weather_forecast'],
    ['把这封邮件发给张三', 'send_email'],
    ['帮我定一个早上七点的闹钟', 'set_alarm'],
    ['快递到哪里了', 'track_package'],
    ['明日の天気を教えてください', 'get_weather_forecast'],
    ['ホテルを予約したい', 'book_hotel'],
    ['このファイルを削除して', 'delete_file'],
    ['최신 뉴스를 보여줘', 'read_news'],
    ['서울행 기차를 찾아줘', 'search_trains'],
    ['비밀번호를 초기화하고 싶어요', 'reset_password'],
    ['¿Qué tiempo hará mañana en Madrid?', 'get_weather_forecast'],
    ['Quiero cancelar mi pedido', 'cancel_order'],
    ['Busca vuelos a Lima', 'search_flights'],
    ['Quelle est la météo à Lyon ?', 'get_weather_forecast'],
    ['Traduis ce texte en anglais', 'translate_text'],
    ['Supprime le fichier', 'delete_file'],
    ['Wie wird das Wetter morgen in Köln?', 'get_weather_forecast'],
    ['Stelle den Wecker auf sieben Uhr', 'set_alarm'],
    ['Zeige mir die Rechnungen dieses Kunden', 'list_invoices'],
    ['Qual é a previsão do tempo para amanhã?', 'get_weather_forecast'],
    ['Crie uma pasta nova', 'create_folder'],
    ['Quero ouvir uma música', 'play_music'],
    ['Какая завтра погода в Москве?', 'get_weather_forecast'],
    ['Найди рецепт борща', 'find_recipe'],
    ['Переведи деньги на счёт в банке', 'transfer_money'],
  ])('%s', async (question, name) => {
    const index = keywordIndex(undefined, { translate: toolWords })
    await index.add(THIRTY)
    const [first] = await index.search(question, 1)
    expect([first?.name, ...(await STORED.search(question, 1))]).toEqual([name, name])
  })
})

/** Begins the labelled questions without accents that are not in English. */
const OTHER_LANGUAGE = /^(?:Quiero|Necesito|Wie wird|Schreibe|Quel)/

test('English questions, and words that the table does not have, find exactly what they find without it', async () => {
  const [plain, translating] = [createKeywordIndex(), keywordIndex(undefined, { translate: toolWords })]
  for (const index of [plain, translating]) await index.add(TOOLS.map(definitionOfRow))
  const english = QUESTIONS.map(([text]) => text).filter(
    (text) => /^[\0-\x7f]*$/.test(text) && !OTHER_LANGUAGE.test(text),
  )
  for (const question of [
    ...english,
    'convert money',
    'Please send the file 报告.txt to my client',
    'note another flight',
    'compare sites',
    'xyzzy',
    '龘龘',
    'Żółw',
  ]) {
    expect(toolWords(question)).toEqual([])
    expect(await translating.search(question, 20)).toEqual(await plain.search(question, 20))
  }
})
