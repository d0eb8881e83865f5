import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { offlineRules } from '../../src/model/offline-rules.ts'
import { edgecallTools } from './exam/edgecall-tools.ts'
import type { ExamTool } from './exam/exam-tool.ts'
import { foreignTools } from './exam/foreign-tools.ts'
import { type Moment, momentOf } from './exam/moment.ts'
import { UNANSWERABLE } from './exam/paraphrases.ts'
import { type Question, QUESTIONS } from './exam/questions.ts'
import { dishonesty, fault, report, sit, type Sitting } from './exam/sit.ts'

vi.mock('cloudflare:workers', () => ({ WorkerEntrypoint: Object }))

// The data of this exam was written without sight of the model's rules. A sentence that fails is answered by a better
// rule or by one of the misses allowed, never by another sentence.

const NOW = Date.parse('2026-11-20T14:05:09+01:00')

const DRESSINGS: readonly (readonly [string, () => Promise<readonly ExamTool[]>])[] = [
  ['the tools of this repository', async () => Object.values(await edgecallTools())],
  ['foreign tools among distractors', foreignTools],
]

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe.each(DRESSINGS)('with %s', (_, offered) => {
  test.each(QUESTIONS)('answers $asks however it is put', async (question) => {
    const failed = await examine(question.paraphrases, offered, (sitting) => fault(question, sitting, momentOf(NOW)))
    expect(tolerated(failed, 2)).toEqual([])
  })

  test('says no where no tool can answer, and calls none', async () => {
    expect(tolerated(await examine(UNANSWERABLE, offered, dishonesty), 1)).toEqual([])
  })

  test.each(['2026-11-20T00:20:09+01:00', '2026-12-31T22:30:00+01:00', '2028-02-28T08:15:59+01:00'])(
    'answers from the clock at %s',
    async (time) => {
      vi.setSystemTime(time)
      const moment: Moment = momentOf(Date.parse(time))
      const failed: string[] = []
      for (const question of QUESTIONS) {
        const first = question.paraphrases.slice(0, 1)
        failed.push(...(await examine(first, offered, (sitting) => fault(question, sitting, moment))))
      }
      expect(failed).toEqual([])
    },
  )
})

test.each<Question>(QUESTIONS)('without tools, owns up that it cannot answer $asks', async ({ paraphrases }) => {
  expect(await examine(paraphrases, async () => [], dishonesty)).toEqual([])
})

/** Puts each question to a new model with new tools, and reports those whose sitting has a fault. */
async function examine(
  asked: readonly string[],
  offered: () => Promise<readonly ExamTool[]>,
  faultOf: (sitting: Sitting) => string | undefined,
): Promise<string[]> {
  const failed: string[] = []
  for (const question of asked) {
    const sitting = await sit(offlineRules('offline/rules', { now: () => new Date() }), question, await offered())
    const why = faultOf(sitting)
    if (why !== undefined) failed.push(report(sitting, why))
  }
  return failed
}

/** Nothing where no more have failed than may; else all of them. */
function tolerated(failed: readonly string[], misses: number): readonly string[] {
  return failed.length > misses ? failed : []
}
