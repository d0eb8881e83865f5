/** Confirms that a mail was sent, or says that none was. */
import { type Fact, marksStandIn } from './facts.ts'
import type { Field } from './field.ts'
import type { Result } from './result.ts'

/** Tells whether a field is the headline of a text, such as a mail's subject. */
export function isHeadline(name: string): boolean {
  return /subject|title|headline/i.test(name)
}

/** Confirms a mail: “I sent “AI news” to friend@example.com.” */
export function tellSent({ reading: { han }, arguments: values, profile }: Result, facts: readonly Fact[]): string {
  const textIn = (field: Field | undefined): string => {
    const value = values[field?.name ?? '']
    return typeof value === 'string' ? value : ''
  }
  const to = textIn(profile?.fields.find(({ kind }) => kind === 'email'))
  const line = textIn(profile?.fields.find(({ name }) => isHeadline(name)))
  const isStandIn = facts.some(marksStandIn)
  if (han) {
    const what = line === '' ? '邮件' : `“${line}”`
    return `已将${what}发送至${to}。${isStandIn ? '（由模拟服务接收，并未真正发出。）' : ''}`
  }
  const what = line === '' ? 'the mail' : `“${line}”`
  return `I sent ${what} to ${to}.${isStandIn ? ' (A stand-in took it: nothing really went out.)' : ''}`
}

/** Says that no mail was sent, because its content could not be found. */
export function tellUnsent(han: boolean): string {
  return han ? '因此没有发送邮件。' : 'So I sent no mail.'
}
