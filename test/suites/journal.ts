import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import type { Content } from '../../src/contract/message.ts'
import type { Journal } from '../../src/loop/running.ts'
import { newState, type RunState } from '../../src/loop/state.ts'
import { requestOf, RUN_ID } from '../fixtures/play.ts'

/** A journal set up for the suite. */
export interface StagedJournal {
  readonly journal: Journal
  /** What its reader has got. */
  readonly events: () => Promise<readonly RunEvent[]>
}

const TEXT: readonly Content[] = [{ type: 'text', text: 'all of it' }]

/** What every Journal promises. `stage` makes the journal of a new run with the id `RUN_ID`. */
export function journalSuite(name: string, stage: (state: RunState) => StagedJournal): void {
  function staged() {
    const state = newState(requestOf(), new Map())
    return { state, ...stage(state) }
  }

  describe(`the journal ${name}`, () => {
    test('hands facts and news to its reader in order, numbered from 1', async () => {
      const { journal, state, events } = staged()
      const started = { type: 'run.started', model: 'test/scripted', tools: [], at: 0 } as const
      journal.commit([started, { type: 'step.started', step: 1 }], state)
      journal.show({ type: 'text.delta', step: 1, text: 'Hel' })
      journal.show({ type: 'text.delta', step: 1, text: 'lo' })
      journal.commit([{ type: 'run.cancelling' }], state)
      expect(await events()).toEqual([
        { ...started, runId: RUN_ID, seq: 1 },
        { type: 'step.started', step: 1, at: 0, runId: RUN_ID, seq: 2 },
        { type: 'text.delta', step: 1, text: 'Hel', at: 0, runId: RUN_ID, seq: 3 },
        { type: 'text.delta', step: 1, text: 'lo', runId: RUN_ID, seq: 4 },
        { type: 'run.cancelling', at: 0, runId: RUN_ID, seq: 5 },
      ])
    })

    test('hands on nothing for a commit without events', async () => {
      const { journal, state, events } = staged()
      journal.commit([], state)
      expect(await events()).toEqual([])
    })

    test('returns the complete content of a result, before and after the commit that stores it', () => {
      const { journal, state } = staged()
      expect(journal.fullResult('call_1')).toBeUndefined()
      journal.storeFullResult('call_1', TEXT)
      expect(journal.fullResult('call_1')).toEqual(TEXT)
      journal.commit([{ type: 'step.started', step: 1 }], state)
      expect(journal.fullResult('call_1')).toEqual(TEXT)
      expect(journal.fullResult('call_2')).toBeUndefined()
    })

    test('takes an outcome that comes late, and keeps what it has handed on', async () => {
      const { journal, state, events } = staged()
      journal.commit([{ type: 'step.started', step: 1 }], state)
      journal.storeLateOutcome('call_1', { ok: true, content: TEXT }, 'clock')
      expect((await events())[0]).toMatchObject({ type: 'step.started', seq: 1 })
    })
  })
}
