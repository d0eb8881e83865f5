import { expect, test } from 'vitest'
import type { ReportedRun, RunReporter } from '../../src/contract/report.ts'
import { testEdge } from '../fixtures/edge.ts'
import { say } from '../fixtures/scripted.ts'

/** Makes a reporter that passes the ids of the runs of each batch to `send`. */
function reporterOf(send: (ids: readonly string[]) => Promise<void>): RunReporter {
  const openBatch = () => {
    const ids: string[] = []
    return { add: ({ request }: ReportedRun) => void ids.push(request.runId), send: () => send(ids) }
  }
  return { name: 'test', openBatch }
}

/** Sends three requests to an edge with this reporter. Returns the ids of their runs, once they are reported. */
async function askThrice(reporter: RunReporter) {
  const edge = testEdge({ script: [say('one'), say('two'), say('three')], setup: { reporters: [reporter] } })
  const ids: string[] = []
  for (let count = 0; count < 3; count++) {
    const response = await edge.ask('/runs', { json: { input: 'Hello' } })
    const { id } = await response.json<{ id: string }>()
    ids.push(id)
  }
  await Promise.all(edge.afterwards)
  return { ids, reports: edge.reports }
}

test('runs that are not stored are reported together if they end within a tenth of a second', async () => {
  const batches: (readonly string[])[] = []
  const { ids, reports } = await askThrice(reporterOf(async (batch) => void batches.push(batch)))
  expect(batches).toEqual([ids])
  expect(reports).toEqual([])
})

test('runs that are not stored are reported twice at most, and each is logged when its report fails', async () => {
  const batches: (readonly string[])[] = []
  const { ids, reports } = await askThrice(
    reporterOf(async (batch) => {
      batches.push(batch)
      throw new Error('away')
    }),
  )
  expect(batches).toEqual([ids, ids])
  const failures = (event: string, attempts: number) =>
    ids.map((runId) => ({ event, reporter: 'test', runId, attempts, detail: 'away' }))
  expect(reports).toEqual([...failures('report.failed', 1), ...failures('report.given_up', 2)])
})
