/** Normalizes spelling, so that patterns and word lists see one form of it. */

export const HAN = /\p{Script=Han}/u

const TRADITIONAL =
  '幾號點時間鐘現當氣溫熱風預報長東紐約倫國韓麥馬羅鬧計戶顧員會開減單訂電話發設詢請問幫個們麼樣這該為與沒過後從給說帶誰寫詩謝禮週兩萬億譯匯價聞務總關於據資況編碼細訴聽嗎'
const SIMPLIFIED =
  '几号点时间钟现当气温热风预报长东纽约伦国韩麦马罗闹计户顾员会开减单订电话发设询请问帮个们么样这该为与没过后从给说带谁写诗谢礼周两万亿译汇价闻务总关于据资况编码细诉听吗'

/** Replaces full-width forms, typographic quotes and traditional characters; no character changes its position. */
export function plain(text: string): string {
  return text
    .replace(/[！-～]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
    .replace(/[‘’]/g, "'")
    .replace(/[“”「」„«»]/g, '"')
    .replace(/。/g, '.')
    .replace(/\s/g, ' ')
    .replace(/\p{Script=Han}/gu, (char) => SIMPLIFIED[TRADITIONAL.indexOf(char)] ?? char)
}

/** Returns the light stem of an English word in lower case; stems are compared only with other stems. */
export function stem(word: string): string {
  if (HAN.test(word)) return word
  let stem = word.replace(/'\w*$/, '')
  if (stem.length > 3) stem = stem.replace(/ies$/, 'y').replace(/(?<=[^su])(?<!^new)s$/, '')
  if (stem.length > 5) stem = stem.replace(/(?:ing|ed|ly|(?<=.{5})(?:ation|ion|or|er))$/, '')
  return stem.replace(/(.)\1$/, '$1').replace(/(..)e$/, '$1')
}
