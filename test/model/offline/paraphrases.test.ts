import { describe, expect, test } from 'vitest'
import { DISTRACTORS, DRESSINGS, type Trade } from './dressings.ts'
import * as asked from './paraphrases.ts'
import { NOW, type Played, play } from './play.ts'

const IN_TEN_MINUTES = NOW + 600_000

interface Family {
  readonly name: string
  readonly questions: readonly string[]
  readonly trade: Trade
  readonly isRight: (played: Played) => boolean
}

function lastValues({ calls }: Played): readonly unknown[] {
  return Object.values(calls.at(-1)?.arguments ?? {})
}

function isInTenMinutes(played: Played): boolean {
  return lastValues(played).some((value) => value === 600 || Date.parse(String(value)) === IN_TEN_MINUTES)
}

const FAMILIES: readonly Family[] = [
  {
    name: 'the time in Tokyo',
    questions: asked.TIME_IN_TOKYO,
    trade: 'clock',
    isRight: (played) =>
      played.calls.length === 1 && lastValues(played).includes('Asia/Tokyo') && played.answer.includes('22:05'),
  },
  {
    name: 'a square root',
    questions: asked.SQUARE_ROOT,
    trade: 'root',
    isRight: (played) => lastValues(played)[0] === 475695037565 && played.answer.includes('689706.4865'),
  },
  {
    name: 'a reminder',
    questions: asked.REMIND_TO_STRETCH,
    trade: 'reminder',
    isRight: (played) => isInTenMinutes(played) && lastValues(played).some((value) => /stretch/i.test(String(value))),
  },
  {
    name: 'rain tomorrow',
    questions: asked.RAIN_TOMORROW,
    trade: 'weather',
    isRight: (played) => lastValues(played).includes('Copenhagen') && lastValues(played).includes('2026-11-21'),
  },
  {
    name: 'the day tomorrow',
    questions: asked.DAY_TOMORROW,
    trade: 'clock',
    isRight: ({ answer }) => answer.includes('Saturday, 21 November 2026'),
  },
  {
    name: 'a customer',
    questions: asked.CUSTOMER_42,
    trade: 'customer',
    isRight: (played) => String(lastValues(played)[0]) === '42' && played.answer.includes('Ada Okafor'),
  },
  {
    name: 'the day tomorrow, in Chinese',
    questions: asked.DAY_TOMORROW_IN_CHINESE,
    trade: 'clock',
    isRight: ({ answer }) => answer.includes('2026年11月21日星期六'),
  },
  {
    name: 'a reminder, in Chinese',
    questions: asked.REMIND_IN_CHINESE,
    trade: 'reminder',
    isRight: isInTenMinutes,
  },
  {
    name: 'a reminder of something, in Chinese',
    questions: asked.DRINK_IN_CHINESE,
    trade: 'reminder',
    isRight: (played) => isInTenMinutes(played) && lastValues(played).includes('喝水'),
  },
  {
    name: 'the weather, in Chinese',
    questions: asked.WEATHER_IN_CHINESE,
    trade: 'weather',
    isRight: (played) => lastValues(played).some((value) => value === '长春' || value === '長春'),
  },
]

describe.each(Object.entries(DRESSINGS))('with %s tools among distractors', (_, dressing) => {
  const props = [...DISTRACTORS, ...Object.values(dressing)]
  const nameOf = (trade: Trade): string => dressing[trade].definition.name

  test.each(FAMILIES)('$name is found and told, however it is asked for', async ({ questions, trade, isRight }) => {
    const wrong: unknown[] = []
    for (const question of questions) {
      const played = await play(props, question)
      const tools = played.calls.map(({ tool }) => tool)
      const isOurs = tools.at(-1) === nameOf(trade) && tools.slice(0, -1).every((tool) => tool === nameOf('clock'))
      if (!isOurs || !isRight(played)) wrong.push({ question, ...played })
    }
    expect(wrong).toEqual([])
  })

  test('what no tool fits is answered with an honest no', async () => {
    const wrong: unknown[] = []
    for (const question of asked.UNANSWERABLE) {
      const played = await play(props, question)
      if (played.calls.length > 0 || !/I cannot answer|回答不了/.test(played.answer))
        wrong.push({ question, ...played })
    }
    expect(wrong).toEqual([])
  })
})
