import type { RunEvent } from '../../src/contract/event.ts'
import { memoryJournal } from '../../src/loop/running.ts'
import { RUN_ID } from '../fixtures/play.ts'
import { journalSuite } from '../suites/journal.ts'

journalSuite('in memory', () => {
  const events: RunEvent[] = []
  return {
    journal: memoryJournal(
      RUN_ID,
      (event) => events.push(event),
      () => 0,
    ),
    events: async () => events,
  }
})
