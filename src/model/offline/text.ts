/**
 * Normalizes spelling: signs and quotes, Chinese characters, and English words by light stemming. Stems are compared
 * only with other stems.
 */

export const HAN = /\p{Script=Han}/u

/** Replaces full-width forms with ASCII and typographic quotes with plain ones, so that patterns see one spelling. */
export function plain(text: string): string {
  return text
    .replace(/[！-～]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
    .replace(/[‘’]/g, "'")
    .replace(/[“”「」]/g, '"')
    .replace(/\s/g, ' ')
}

const TRADITIONAL =
  '幾號點時間鐘現當氣溫熱風預報長東紐約倫國韓麥馬羅鬧計戶顧員會開減單訂筆記電話發設詢請問幫個們麼樣這該為與沒過後從給說帶誰寫詩謝禮週兩萬億贏譯匯價聞樂圖務總結線關於據資況編碼詳細訴聽嗎'
const SIMPLIFIED =
  '几号点时间钟现当气温热风预报长东纽约伦国韩麦马罗闹计户顾员会开减单订笔记电话发设询请问帮个们么样这该为与没过后从给说带谁写诗谢礼周两万亿赢译汇价闻乐图务总结线关于据资况编码详细诉听吗'

/** Replaces the traditional characters that the rules know with simplified ones; the positions do not change. */
export function simplify(text: string): string {
  return text.replace(/\p{Script=Han}/gu, (char) => SIMPLIFIED[TRADITIONAL.indexOf(char)] ?? char)
}

export function stem(word: string): string {
  if (HAN.test(word)) return word
  let stem = word.replace(/'\w*$/, '')
  if (stem.length > 3) stem = stem.replace(/ies$/, 'y').replace(/(?<=[^su])(?<!^new)s$/, '')
  if (stem.length > 5) stem = stem.replace(/(?:ing|ed|ly|(?<=.{5})(?:ation|ion|or|er))$/, '')
  return stem.replace(/(.)\1$/, '$1').replace(/(..)e$/, '$1')
}
