/**
 * The vocabulary of the rules, English and Chinese: words that express a concept, words without meaning of their own
 * (stop words), words for actions, and phrases that stand for one word. An unknown word may be a typing error for one
 * of them. The vocabulary is general language about common topics; no tool is named here.
 */
import { HAN, simplify, stem } from './text.ts'

/**
 * On each line a concept, its weight (how surely it shows what is asked for) and its words; indented lines continue the
 * one above. In `own`, each word is a concept by itself.
 */
const CONCEPTS = `time 1.3 time clock hour o'clock moment instant timestamp 几点 时间 点钟 时刻 时候
date 1.3 date day weekday today tomorrow yesterday week month year datetime 日期 几号 多少号 星期 星期几 周几 礼拜几
  日子 几月 几日 哪天 哪一天 今天 明天
now .5 now current currently present presently local zone timezone tz utc 现在 当前 目前 此刻 当地 时区
weather 2 weather forecast rain rainy rainfall raincoat umbrella sun sunny sunshine snow snowy storm thunderstorm
  temperature cold hot warm cool chilly freezing wind windy humid drizzle shower wet dry sky cloud cloudy fog meteo
  meteorology meteorological precipitation climate degree celsius outdoor pour soak 天气 气象 气候 下雨 雨 雨伞 伞
  气温 温度 冷 热 晴 下雪 雪 风 几度 多少度 度 预报
remind 2 remind reminder alarm alert ping nudge notify notification wake timer countdown buzz poke prod jog prompt
  提醒 闹钟 闹铃 叫 喊 通知 计时 计时器 倒计时 定时 定时器 闹 叫醒
calc 1.6 calculate calculation calculator compute computation arithmetic math mathematics expression evaluate formula
  sum add plus minus subtract multiply divide product percent equation 计算 算 加 减 乘 除 等于 表达式
root 2 root sqrt radical radicand 平方根 根号 开方 开平方
square 1 square squared sqrt 平方根 平方 根号 开方 开平方
customer 2 customer client cust crm patron account buyer shopper subscriber consumer 客户 顾客 客人 用户 会员
person .6 who whom whose person customer client buyer user contact employee member 谁
email 3 email mail 邮件 电邮
news 3 news headline 新闻 资讯
own 3 explain compose cube sunrise sunset book booking flight hotel translate convert currency order refund
  openinghours price quote stock joke poem poetry story essay haiku novel song music code program script recipe
  cook image picture meeting event task todo note phone invoice definition random dice ticket route win won score
  president population history 翻译 汇率 订单 退款 营业 价格 名言 股票 笑话 诗 故事 歌 代码 菜谱 图片 音乐
  会议 任务 笔记 电话 发票 总结 路线 赢 首都`

const EMPTY = `a an the of to in on at for from by with about as into over up out off than is are was were be been am
do does did have has had having will would shall should can could may might must i me my mine you your we us our it
its this that these those there here he she they his her their him what which when where why how and or but if so not
no don yes please pls thank thanks hey hi hello ok just also too then any some all each every more most much very
really bit tell told give show let get got know see say want need like love help check look find use make take go
going come as per e.g i.e etc such one thing something anything quick quickly kindly possible id number num detail
details info information record data value field optional default given name result return text string format example
bring pull fetch retrieve display view read lookup query provide gonna new file set add create schedule start put send
right exactly between expect fall happen likely user wonder curious work inform exact people live city town place st
nd rd th 请 请问 帮 帮我 我 你 您 他 她 的 了 吗 呢 吧 啊 呀 是 在 一下 个 告诉 想 知道 要 会 能 可以 有 没有 多少
什么 怎么样 怎样 怎么 如何 咋样 点样 嘅 系 市 查 查询 看 看看 给 给我 和 去 到 把 这 那 里 一 麻烦 需要 用 为 或 指定
获取 返回 根据 并 及 与 以 我们 关于 信息 资料 情况 编号 号 号码 哪 几 一声 记得 到时候 设 设置 设定 定 再 过 说 得 不
该 应该 带 现 好 都 就 它 位 那边`

const ACTIONS = {
  remove: 'delete cancel remove dismiss disable revoke deactivate 取消 删除 关掉',
  change: 'update edit change modify rename reschedule snooze postpone charge 修改 更新 推迟',
  create:
    'create add new set make schedule book send post write register start open place buy pay put save submit upload ' +
    'log reserve issue 设置 设定 设 创建 发送 定 订',
}

export type Action = keyof typeof ACTIONS | 'read'

const anyOf = (...patterns: readonly string[]): RegExp => new RegExp(patterns.join('|'), 'gi')

/** The words that phrases, or words in one of their senses, stand for; `''` removes the phrase. */
const PHRASES: readonly (readonly [word: string, phrase: RegExp])[] = [
  [
    '',
    anyOf(
      '\\bgood (?:morning|afternoon|evening|night)\\b',
      '(?<!time |hour )\\bof the day\\b|\\ball day\\b',
      '\\b(?:next|last|this|first|second|long|free|any|how much|response) time\\b|\\bonce (?=[^,]* time)',
      '\\b(?:is|are|been|already) set\\b',
      "\\bin order(?= to)|(?:'m|\\bam|\\bare) meeting\\b",
    ),
  ],
  [
    'explain',
    anyOf(
      '\\bhow (?:do(?! i\\b)|does|did|are you)\\b|\\bwhy\\b|\\bwho \\w+ed\\b',
      '^\\W*(?:was|were|did) (?!i\\b|we\\b|you\\b)',
    ),
  ],
  ['compose', anyOf('\\b(?:re)?write (?:me )?(?=an?\\b|some|this|the\\b)', '\\b(?:draft|invent|design|make up)\\b')],
  [
    'notify',
    anyOf(
      "\\b(?:let me know|heads[- ]?up|(?:don't|do not) (?:let me )?forget)\\b",
      '\\b(?:make sure|so) (?:that )?i(?: can| remember to)?\\b',
    ),
  ],
  [
    'now',
    anyOf(
      '\\bright now\\b|\\bat (?:the moment|present)\\b',
      '\\b(?:at )?this (?:very )?(?:moment|minute|second|instant)\\b',
    ),
  ],
  ['clock', anyOf('\\b(?:how|too) late\\b')],
  ['cancel', anyOf('\\b(?:call|turn|switch)(?: it| them| that)? off\\b|\\bget rid of\\b')],
  ['openinghours', anyOf('\\b(?:opening|business|working|office|store|shop) (?:hours|times)\\b')],
  [
    'sqrt',
    anyOf(
      '√|\\bsq(?:uare)?\\.?[ -]?r(?:oo)?t\\b|\\b(\\w) ?\\* ?\\1\\b',
      '(?:\\^|\\*\\*|power of) ?\\(?(?:0?\\.5|1 ?\\/ ?2|(?:one )?half)\\b',
      '\\b(?:number|value|what|which|x)\\b.*\\b(?:squared?|itself)\\b.*\\b(?:is|gives?|equals?|makes?|yields?|get)\\b',
      '\\b(?:number|value)\\b.*\\b(?:gives?|makes?|is)\\b.*\\b(?:squared|itself)\\b',
      '\\bsquare\\b.*\\barea\\b.*\\bside\\b|\\bside\\b.*\\bsquare\\b.*\\barea\\b',
    ),
  ],
]

const lexicon = new Map<string, (readonly [concept: string, weight: number])[]>()
for (const line of CONCEPTS.split(/\n(?! )/)) {
  const [concept = '', weight, ...words] = line.split(/\s+/)
  for (const word of words) {
    const key = stem(word)
    const sense = [concept === 'own' ? key : concept, Number(weight)] as const
    lexicon.set(key, [...(lexicon.get(key) ?? []), sense])
  }
}
const empty = new Set(EMPTY.split(/\s/).map(stem))
const actions = new Map<string, Action>()
for (const action of ['remove', 'change', 'create'] as const) {
  for (const word of ACTIONS[action].split(' ')) actions.set(stem(word), action)
}
const hanWords = [...lexicon.keys(), ...empty, ...actions.keys()].filter((word) => HAN.test(word) && word.length > 1)
const longestFirst = hanWords.sort((a, b) => b.length - a.length).join('|')
const WORD = new RegExp(`${longestFirst}|\\p{Script=Han}|(?:(?!\\p{Script=Han})\\p{L})+(?:'\\p{L}+)?|\\d+`, 'gu')

/** Returns the known stem of which an unknown one may be a typing error, or else the stem itself. */
function likely(stem: string): string {
  if (stem.length < 5 || HAN.test(stem)) return stem
  return [...lexicon.keys()].find((known) => known.length > 4 && known[0] === stem[0] && isSlip(stem, known)) ?? stem
}

/** Tells whether a letter is missing or added, two letters are swapped, or, in longer words, one letter is wrong. */
function isSlip(a: string, b: string): boolean {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  const [restA, restB] = [a.slice(at), b.slice(at)]
  const isSwap = restA.slice(2) === restB.slice(2) && restA[0] === restB[1] && restA[1] === restB[0]
  const isOther = a.length > 5 && restA.slice(1) === restB.slice(1)
  return isSwap || isOther || restA.slice(1) === restB || restA === restB.slice(1)
}

/** A word of a text. `senses` are the concepts that it may express; `empty` marks stop words and numbers. */
export interface Word {
  readonly text: string
  readonly stem: string
  readonly senses: readonly (readonly [concept: string, weight: number])[]
  readonly empty: boolean
  readonly action: Action | undefined
}

/** Replaces each phrase in a text with the word that it stands for. */
export function resolvePhrases(text: string): string {
  return PHRASES.reduce((resolved, [word, phrase]) => resolved.replace(phrase, ` ${word} `), text)
}

/** Returns the words of a text or an identifier in order, in lower case, with phrases resolved. */
export function wordsOf(text: string): readonly Word[] {
  const spaced = resolvePhrases(text.replace(/[_\s]+/g, ' ').replace(/([a-z\d])([A-Z])/g, '$1 $2')).toLowerCase()
  return Array.from(simplify(spaced).matchAll(WORD), ({ 0: word, index }) => {
    const stemmed = stem(word)
    const isKnown = lexicon.has(stemmed) || empty.has(stemmed) || actions.has(stemmed)
    const key = isKnown ? stemmed : likely(stemmed)
    const text = spaced.slice(index, index + word.length)
    const isEmpty = empty.has(key) || /^\d/.test(key)
    return { text, stem: key, senses: (!isEmpty && lexicon.get(key)) || [], empty: isEmpty, action: actions.get(key) }
  })
}
