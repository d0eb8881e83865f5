/** What the model says of itself, in the language of the question. */
import { HAN } from './text.ts'

const ENGLISH =
  'the is are was what who when where why how i me my please and not a an to in of for will do does can you it tell at'

/** The languages that are only recognized: common words of each, and the refusal in it. */
const FOREIGN = [
  [
    'der die das ist wie was wer wann wo warum ich mich mir bitte und nicht ein eine einen morgen heute uhr wird im es für kannst du',
    'Das kann ich leider nicht beantworten: Ich bin ein Offline-Modell mit festen Regeln und verstehe nur Fragen auf Englisch und Chinesisch.',
  ],
  [
    'el la los las es qué que quién cómo cuándo cuál dónde por para una un en hora mañana hoy me mi del hace puedes escribe',
    'Lo siento, no puedo responder a eso: soy un modelo sin conexión con reglas fijas y solo entiendo preguntas en inglés y chino.',
  ],
  [
    'le la les est quel quelle qui quand comment où pourquoi je moi une un des du dans demain heure il fait pour peux tu vous',
    'Désolé, je ne peux pas répondre à cela : je suis un modèle hors ligne à règles fixes et je ne comprends que les questions en anglais et en chinois.',
  ],
] as const

/** Refuses a question in German, Spanish or French: in that of which it has more common words than of English. */
export function refuseForeign(text: string): string | undefined {
  if (HAN.test(text)) return undefined
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? []
  const count = (common: string): number => words.filter((word) => common.split(' ').includes(word)).length
  const [best] = FOREIGN.toSorted(([a], [b]) => count(b) - count(a))
  return best && count(best[0]) > Math.max(count(ENGLISH), 1) ? best[1] : undefined
}

/** Says that no tool fits `unfit`, or the whole question, and which tools there are. */
export function refuse(isHan: boolean, unfit: readonly string[], names: readonly string[]): string {
  const quoted = unfit.length === 0 ? '' : `“${unfit.join(' ').trim().slice(0, 200)}”`
  const listing = names.slice(0, 9).join(', ') + (names.length > 9 ? ', …' : '')
  if (isHan) {
    const why = names.length === 0 ? '这里没有任何工具' : `没有适用的工具（${listing}）`
    return `抱歉，我回答不了${quoted}：我是按固定规则工作的离线模型，${why}。`
  }
  const why = names.length === 0 ? 'no tool is on offer' : `no tool on offer fits (${listing})`
  return `Sorry, I cannot answer ${quoted || 'that'}: I am an offline model that works by fixed rules, and ${why}.`
}

/** Recognizes `askFor`, so that the next message is known to be the reply. */
export const ASKS = /I still need to know|我还需要知道/

/** Asks for the fields that are missing. */
export function askFor(isHan: boolean, fields: readonly { name: string; description: string }[]): string {
  const names = fields.map(({ name, description }) => (description ? `${name} (${description})` : name)).join('; ')
  return isHan ? `我还需要知道：${names}` : `I still need to know: ${names}`
}

/** Says that an argument needs the present time. */
export function lackClock(isHan: boolean): string {
  if (isHan) return '这取决于现在的时间，而没有工具能告诉我。'
  return 'I cannot tell: that depends on the present time, and no tool tells me that.'
}
