/**
 * Plans the next step of a run. Every step settles all intents anew from the conversation: while any of them needs a
 * call, the step is those calls; otherwise it is the text of their answers.
 */
import { isObject } from '../../contract/json.ts'
import { textOf } from '../../contract/message.ts'
import type { ModelRequest } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { ASKS, noClock, refuse, tell } from './answer.ts'
import { fill } from './fill.ts'
import { type Asked, intentsOf } from './intent.ts'
import { type Profile, profileOf } from './profile.ts'
import { rank } from './rank.ts'
import { read } from './read.ts'
import { tellUnsent } from './sent.ts'
import { callOf, clockCall, type Present, settle, type Settled } from './settle.ts'
import { stem } from './text.ts'
import { type Done, doneIn, isSame, type PlannedCall, timeSaid } from './turn.ts'

export type Step = { readonly calls: readonly PlannedCall[] } | { readonly text: string }

/**
 * Phrases that are not part of the question: “remind me: what …?” sets no reminder, and “it is now …” tells the time.
 */
const ASIDE = new RegExp(
  '\\b(?:(?:can|could) you )?(?:remind me|jog my memory)[,:]? (?=(?:what|who|which|how|where)\\b)|' +
    "(?:\\bit(?:'s| is) )?(?:\\bnow|现在)(?: is|是)?:? ?\\d{4}-\\d\\d-\\d\\dT[\\d:.]+(?:Z|[+-][\\d:]+)?[.,;]?",
  'gi',
)

/** The number of characters of a message that are read. */
const MOST_CHARACTERS = 2000

/** Returns the next step of a conversation. `lent` is the clock to use if no tool tells the time. */
export function nextStep({ messages, tools, toolChoice = 'auto' }: ModelRequest, lent?: () => Date): Step {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const said = messages.slice(0, at + 1).flatMap((message) => {
    return message.role === 'user' ? textOf(message.content).slice(0, MOST_CHARACTERS) : []
  })
  const [question = '', ...earlier] = said.map((text) => text.replace(ASIDE, '')).toReversed()
  const before = messages.slice(0, Math.max(at, 0)).findLast(({ role }) => role === 'assistant')
  const isReply = before !== undefined && ASKS.test(textOf(before.content))
  const profiles = toolChoice === 'none' ? [] : tools.map(profileOf)
  const asked = chosen(intentsOf(question, earlier, profiles, isReply), toolChoice, profiles, question)
  const done = doneIn(messages.slice(at + 1))
  const clocks = profiles.filter((profile) => profile.tellsNow)
  const clock = rank(clocks, read('What are the current date and time now?'))[0]?.profile
  const isTold = ({ tool }: PlannedCall): boolean => clocks.some(({ definition }) => definition.name === tool)
  const lentNow = lent && { epoch: lent().getTime(), offset: 0 }
  const present: Present = { done, clock, otherwise: timeSaid(said) ?? lentNow }
  const settled = asked.intents.map((intent) => settle(intent, present))
  const calls = settled.flatMap((one) => {
    if ('call' in one) return [one.call]
    return 'waits' in one && clock ? [clockCall(clock, one.waits)] : []
  })
  if (asked.intents.length === 0) calls.push(...finderCall(profiles, question))
  const fresh = calls.filter((call, at) => ![...done, ...calls.slice(0, at)].some((other) => isSame(other, call)))
  if (fresh.length > 0) return { calls: fresh }
  return {
    text: answerOf({
      question,
      settled,
      unfit: asked.unfit,
      done,
      tools,
      failed: done.find((old) => !old.ok && isTold(old)),
    }),
  }
}

interface Outcome {
  readonly question: string
  readonly settled: readonly Settled[]
  readonly unfit: readonly string[]
  readonly done: readonly Done[]
  readonly tools: readonly ToolDefinition[]
  /** The failed call that should have told the time. */
  readonly failed: Done | undefined
}

/** Composes the answer when no calls are left to make. */
function answerOf({ question, settled, unfit, done, tools, failed }: Outcome): string {
  const reading = read(question)
  const clockless = failed ? tell({ ...failed, reading }) : noClock(reading.han)
  const answers = settled.map((one) =>
    'answer' in one ? one.answer : 'held' in one ? tellUnsent(reading.han) : clockless,
  )
  // Without tools there are no intents, so the results themselves are the answer.
  if (tools.length === 0) answers.push(...done.map((old) => tell({ ...old, reading })))
  const isUnanswered = answers.length === 0
  if (isUnanswered || unfit.length > 0) answers.push(refuse(reading, isUnanswered ? [] : unfit, tools))
  return [...new Set(answers)].join('\n')
}

/** Returns the call of an offered tool that finds tools, if there is one; for questions that no tool fits. */
function finderCall(profiles: readonly Profile[], question: string): readonly PlannedCall[] {
  const finder = profiles.find(({ purpose, action }) => action === 'read' && purpose.has(`=${stem('tools')}`))
  const [field, more] = finder?.fields.filter(({ required }) => required) ?? []
  return finder && field?.kind === 'text' && !more ? [callOf(finder, { [field.name]: question })] : []
}

/** Applies the tool choice to the intents: a forced tool replaces them. */
function chosen(
  asked: Asked,
  choice: ModelRequest['toolChoice'],
  profiles: readonly Profile[],
  question: string,
): Asked {
  const message = read(question)
  const named = isObject(choice) ? profiles.find(({ definition }) => definition.name === choice.tool) : undefined
  const able = (): Profile | undefined =>
    rank(profiles, message).find(({ profile }) => fill({ profile, reading: message }).missing.length === 0)?.profile
  const forced = named ?? (choice === 'required' && asked.intents.length === 0 ? able() : undefined)
  return forced ? { intents: [{ profile: forced, reading: message, message }], unfit: [] } : asked
}
