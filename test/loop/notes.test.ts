import { expect, test } from 'vitest'
import type { ContextReduction, PlacedMessage } from '../../src/contract/context.ts'
import type { Content, MadeCall, Message } from '../../src/contract/message.ts'
import { contentText } from '../../src/contract/message.ts'
import { type Readable, readResultTool } from '../../src/loop/decide/truncated-result.ts'
import { contextPlanner } from '../../src/loop/planning/context-planner.ts'
import { tokensOf } from '../../src/loop/window/tokens.ts'
import { readPointer } from '../../src/loop/planning/notes.ts'
import { planReduction, visibleMessages } from '../../src/loop/planning/plan.ts'

/** The tokens of a window of 16,000 that are left for the messages, and the bytes of a part that is read. */
const ROOM = 7000
const PART = 9600

/** A conversation that is reduced whenever it is full, as a run does it. */
class Reduced {
  readonly aside = new Map<string, readonly Content[]>()
  reduction: ContextReduction | undefined
  reductions = 0
  #messages: PlacedMessage[] = []
  #turns = 0

  add(...messages: readonly Message[]): void {
    const turn = ++this.#turns * 1_000_000
    this.#messages.push(...messages.map((message, index) => ({ position: turn + index, message })))
    const visible = () => visibleMessages(this.#messages, this.reduction)
    if (visible().reduce((total, message) => total + tokensOf(message), 0) <= ROOM) return
    const plan = planReduction({
      ...{ messages: this.#messages, previous: this.reduction, turn, tokens: ROOM * 0.6, model: 'test/model' },
      measure: tokensOf,
      isReadOnly: (tool) => tool === 'look',
    })
    if (!plan) throw new Error('nothing could go')
    this.reductions += 1
    this.reduction = plan.reduction
    if (plan.aside) this.aside.set(plan.aside.id, [{ type: 'text', text: plan.aside.text() }])
    const { from, turn: shownFrom = from } = plan.reduction
    this.#messages = this.#messages.filter(({ position }) => position >= shownFrom)
  }

  /** Where the notes in the prompt say that all are read. */
  get newest(): string {
    return readPointer(this.reduction?.notes ?? '') ?? ''
  }

  prompt(): string {
    return JSON.stringify(visibleMessages(this.#messages, this.reduction))
  }

  async read(args: Record<string, unknown>): Promise<string> {
    const readable: Readable = {
      content: (id) => this.aside.get(id),
      call: () => undefined,
      notes: (reading) => contextPlanner.notes?.read({ ...reading, newest: this.newest }),
    }
    const tool = readResultTool(readable, () => PART)
    const outcome = await tool.call(
      { name: 'read_result', arguments: args, hash: '', context: {} as never },
      {} as never,
    )
    if (!outcome.ok) throw new Error(outcome.error.message)
    const text = contentText(outcome.content)
    expect(new TextEncoder().encode(text).byteLength).toBeLessThanOrEqual(PART)
    return text
  }
}

/** What was asked for in a turn, with a call of each of these ids, which a program or an agent may have made. */
function turnOf(number: number, effects: readonly string[]): Message[] {
  const callId = `call_${number}`
  const calls: MadeCall[] = effects.slice(1).map((id) => {
    return { tool: number % 2 ? 'mail' : 'pay', arguments: JSON.stringify({ id }), outcome: '"ok"', by: 'desk > clerk' }
  })
  const wanted = {
    callId,
    tool: 'desk',
    arguments: JSON.stringify({ note: 'called pay({"id":"no"})', id: effects[0] }),
  }
  return [
    { role: 'user', content: `Please do number ${number}. ${'Hurry. '.repeat(number % 20)}` },
    ...(effects.length > 0
      ? ([
          { role: 'assistant', content: '', calls: [wanted] },
          { role: 'tool', callId, tool: 'desk', ok: true, content: [{ type: 'text', text: 'Done.' }], calls },
        ] as const)
      : []),
    { role: 'assistant', content: `Number ${number} is done. ${'All is well. '.repeat(number % 20)}` },
  ]
}

const IDS = /id "(notes_[^"]+)"/g

test('of 1,000 turns with 2,312 effects, each is found within three reads, by an index or by a search', async () => {
  const conversation = new Reduced()
  const effects: string[][] = []
  for (let number = 1; number <= 1000; number++) {
    const count = number % 3 === 0 ? 0 : Math.min(3 + (number % 2), 2312 - effects.flat().length)
    effects.push(Array.from({ length: count }, (_, index) => `effect-${number}-${index}.`))
    conversation.add(...turnOf(number, effects.at(-1) ?? []))
  }
  expect(effects.flat()).toHaveLength(2312)
  expect(conversation.reductions).toBeGreaterThan(30)

  let unseen = effects.flat().filter((id) => !conversation.prompt().includes(id))
  expect(unseen.length).toBeGreaterThan(2000)
  const index = await conversation.read({ id: conversation.newest })
  expect(index.split('\n')[1]).toMatch(/^- turns 1 to \d+: .*(?:pay|mail|desk) ×\d+.* \(id "notes_\d+\.1-\d+"\)$/)
  for (const [, id] of index.matchAll(IDS)) {
    const second = await conversation.read({ id })
    unseen = unseen.filter((each) => !second.includes(each))
    for (const [, deeper] of second.matchAll(IDS)) {
      const third = await conversation.read({ id: deeper })
      unseen = unseen.filter((each) => !third.includes(each))
    }
  }
  expect(unseen).toEqual([])

  const lost: string[] = []
  for (const [turn, ids] of effects.entries()) {
    const id = ids.at(-1)
    const isInNotes = (turn + 1) * 1_000_000 < (conversation.reduction?.from ?? 0)
    if (id === undefined || !isInNotes || turn % 10 > 0) continue
    const lines = await conversation.read({ id: conversation.newest, search: id })
    if (!lines.includes(`turn ${turn + 1}: `) || !lines.includes(id)) lost.push(id)
  }
  expect(lost).toEqual([])
})

test('notes that an earlier version has made are put aside with the first reduction', async () => {
  const conversation = new Reduced()
  conversation.aside.set('notes_1', [
    { type: 'text', text: '- user: "first"; called pay({"id":"one"}) → "ok" [call_a]' },
  ])
  const notes = [
    '- (older notes: read_result reads them with the id "notes_1")',
    '- user: "second"; called mail({"id":"called pay(}) → "ok" [call_b]',
  ]
  conversation.reduction = { from: 2, results: 2, files: 2, model: 'test/model', notes: notes.join('\n') }
  for (let number = 1; number <= 120; number++) conversation.add(...turnOf(number, [`effect-${number}`]))
  const all = await conversation.read({ id: conversation.newest, search: 'called' })
  expect(all.split('\n').slice(0, 3)).toEqual([
    'turn 1: user: "first"; called pay({"id":"one"}) → "ok" [call_a]',
    'turn 2: user: "second"; called mail({"id":"called pay(}) → "ok" [call_b]',
    'turn 3: called desk({"id":"effect-1","note":"called pay({\\"id\\":\\"no\\"})"}) → "Done." [call_1]',
  ])
})

test('a search of notes that finds nothing says so', async () => {
  const conversation = new Reduced()
  for (let number = 1; number <= 120; number++) conversation.add(...turnOf(number, [`effect-${number}`]))
  expect(await conversation.read({ id: conversation.newest, search: 'EFFECT-7" done' })).toMatch(/^turn 7: /)
  expect(await conversation.read({ id: conversation.newest, search: 'nobody' })).toMatch(
    /^No line has all of these words\./,
  )
})
