/**
 * The words that the rules know, English and Chinese: words that mean the same, words without a meaning of their own,
 * and verbs that change something. This is general language; no tool is named here.
 */
import { HAN, plain, stem } from './text.ts'

/** On each line a concept, then the words that express it; indented lines continue the one above. */
const CONCEPTS = `time time clock hour o'clock 几点 时间 点钟 时刻
date date day weekday calendar today tomorrow yesterday week month year monday tuesday wednesday thursday friday saturday sunday 日期 几号 多少号 星期 星期几 周几 礼拜几 几月 哪天
  哪一天 今天 明天 昨天 日子 几日
now now current currently present presently 现在 当前 目前 此刻
weather weather forecast rain rainy rainfall umbrella raincoat sun sunny snow snowy storm thunderstorm temperature cold hot
  warm cool chilly freezing wind windy shower wet dry cloud cloudy fog precipitation climate degree 天气 气象 下雨 雨 雨伞
  气温 温度 冷 热 晴 下雪 雪 风 几度 多少度 预报
remind remind reminder alarm alert ping nudge notify notification wake timer countdown 提醒 闹钟 闹铃 叫 喊 通知 计时 计时器
  倒计时 叫醒
calculate calculate calculation calculator compute computation arithmetic math expression evaluate formula sum 计算 算
root root sqrt 根 平方根 立方根 根号
square square squared sqrt 平方 平方根
customer customer client buyer subscriber 客户 顾客 客人 会员
person person who whom user contact employee member guest people 谁 用户 人
mail email mail 邮件 电邮
news news headline 新闻
search search google web internet online 搜索 网上
book book booking reservation reserve 预订 预定 订
room room hotel 房间 房 酒店
rate rate exchange convert currency dollar euro pound yen yuan franc usd eur gbp jpy cny chf 汇率 兑换 美元 欧元 英镑 日元 人民币
explain explain why explanation definition mean meaning 为什么 解释
compose compose write poem essay story haiku song joke code function program 写 诗 故事 歌 笑话
opinion opinion think believe better recommend 觉得 认为 意见 推荐
history invent invention history won win founded become battle 发明 历史 赢
send send 发 发送 寄`

const EMPTY = `a an the of to in on at for from by with about as into over up out off than then is are was were be been am do
does did have has had having will would shall should can could may might must i me my mine you your we us our it its this
that these those there here he she they his her their him what which when where how and or but if so no not don yes please
pls thank thanks hey hi hello ok just also too any some all each every more most much many very really tell told give show
let get got know see say want need like love help check look find make take go going come such one thing something
anything quick quickly kindly possible id number no nr details detail info information record data right exactly between
happen likely wonder exact live i'd i'm i've it'll what's who's that's currently local use set add new create schedule start
put up there over last next be look pull fetch retrieve display view lookup query provide gonna wanna bring try now moment
expect expected long many result value answer equal equals whether able chance chances same compare per
请 请问 帮 帮我 我 你 您 他 她 的 了 吗 呢 吧 啊 呀 是 在 一下 个 告诉 想 知道 要 会 能 可以 有 没有 多少 什么 怎么样 怎样 怎么
如何 咋样 点样 嘅 市 查 查询 看 看看 给 给我 和 去 到 把 这 那 里 一 麻烦 需要 用 为 或 我们 关于 信息 资料 情况 编号 号 号码 哪 几
一声 记得 设 设置 设定 设个 定 定个 再 过 说 得 该 应该 好 都 就 它 那边 响 来着 儿 等于 多 们`

const ACTIONS = {
  remove: 'cancel delete remove dismiss disable revoke call-off 取消 删除 关掉',
  change: 'update edit change modify rename reschedule move postpone snooze 修改 更新 推迟 改',
  create:
    'create add set make book reserve schedule send mail email write post register order buy pay save submit remind wake ' +
    'ping nudge notify open start roll 设置 设定 设 设个 创建 发送 发 寄 定 定个 订 预订 预定 提醒 叫 叫醒 喊',
}

export type Action = keyof typeof ACTIONS | 'read'

/** Questions whose first words say what kind of answer is wanted, and the concept that a tool must then speak of. */
export const KINDS: readonly (readonly [concept: string, words: RegExp])[] = [
  [
    'explain',
    /\bwhy\b|\bhow (?:to|do(?:es)?|did|can|should)\b(?! i (?:get in touch|contact|reach))|\bexplain\b|为什么|解释/i,
  ],
  ['history', /\b(?:when|where|why|how|who) did\b|\bwho (?:\w+ed|won|wrote|made|was|were)\b|^\W*(?:was|were|did)\b/i],
  ['compose', /\b(?:write|compose|draft|invent|design)\b (?!to\b|(?:an? )?(?:e-?)?mail)|\bmake up\b|写/i],
  ['opinion', /\b(?:do you think|your opinion|do you believe|do you like|better than)\b|\bopinion\b|觉得|认为/i],
  ['person', /\bwho(?:'s| is|m)?\b|谁/i],
]

const lexicon = new Map<string, readonly string[]>()
for (const line of CONCEPTS.split(/\n(?! )/)) {
  const [concept = '', ...words] = line.split(/\s+/)
  for (const key of new Set(words.map(stem))) lexicon.set(key, [...(lexicon.get(key) ?? []), concept])
}
const empty = new Set(EMPTY.split(/\s+/).map(stem))
const actions = new Map<string, Action>()
for (const action of ['create', 'change', 'remove'] as const) {
  for (const word of ACTIONS[action].split(' ')) actions.set(word, action)
}
const han = [...lexicon.keys(), ...empty, ...actions.keys()].filter((word) => HAN.test(word))
const longestFirst = [...new Set(han)].sort((a, b) => b.length - a.length).join('|')
const WORD = new RegExp(`${longestFirst}|\\p{Script=Han}|(?:(?!\\p{Script=Han})\\p{L})+(?:'\\p{L}+)?|[√²³]`, 'gu')

/** A word of a text. `concepts` are what it may express: concepts of the vocabulary, or its own stem. */
export interface Word {
  readonly text: string
  readonly at: number
  readonly concepts: readonly string[]
  /** Whether the vocabulary has it. */
  readonly isKnown: boolean
  /** Whether it says nothing about the subject. */
  readonly isEmpty: boolean
  /** What the verb does, in its base form. */
  readonly action: Action | undefined
}

/** Returns the words of a text or an identifier such as `setAlarm`, in order. */
export function wordsOf(text: string): readonly Word[] {
  const spaced = plain(text)
    .replace(/_/g, ' ')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
  return Array.from(spaced.matchAll(WORD), ({ 0: word, index }) => {
    const key = stem(word)
    const concepts = lexicon.get(key) ?? [key]
    const isEmpty = empty.has(key) && !lexicon.has(key)
    const action = actions.get(word)
    const isKnown = isEmpty || lexicon.has(key) || action !== undefined
    return { text: word, at: index, concepts, isKnown, isEmpty, action }
  })
}
