import { DatabaseSync } from 'node:sqlite'
import type { RunEvent } from '../../src/contract/event.ts'
import { RunJournal } from '../../src/conversation/run/journal.ts'
import { Readers } from '../../src/conversation/run/readers.ts'
import { Store } from '../../src/conversation/store/store.ts'
import { RUN_ID } from '../fixtures/play.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'
import { journalSuite } from '../suites/journal.ts'

journalSuite('in SQLite', ({ request }) => {
  const store = new Store(memoryStorage(new DatabaseSync(':memory:')))
  store.create()
  const run = store.runs.add(request, '[]', 0)
  const readers = new Readers()
  const journal = new RunJournal({ store, readers, now: () => 0 }, run)
  const stream = readers.open(
    RUN_ID,
    { read: (after) => journal.read(after) },
    { after: 0, isCurrent: false, isEnded: false },
  )
  return {
    journal,
    events: async () => {
      readers.close(RUN_ID)
      const text = await new Response(stream).text()
      return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as RunEvent)
    },
  }
})
