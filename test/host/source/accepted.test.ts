import { expect, test, vi } from 'vitest'
import type { AcceptanceService } from '../../../src/contract/catalogue.ts'
import { approvedDefinitions } from '../../../src/host/source/approved-definitions.ts'
import { ACCEPTED_KEY } from '../../../src/host/stored/copy.ts'
import { freezeClock } from '../../fixtures/frozen-clock.ts'
import { testCatalogue } from '../../catalogue/object.ts'
import { elsewhereOf } from './fake-kv.ts'

const by = { tenant: 'acme' }

freezeClock(1_000_000)

const fingerprint = (name: string, hash: string, place = 'TOOL_MCP') => ({ name, place, hash })

/** A catalogue whose questions are counted, and what an isolate knows of it; `elsewhere` is another one. */
function setup() {
  const catalogue = testCatalogue()
  const { kv, object } = catalogue
  const reports: object[] = []
  const requests: string[] = []
  const state: { failure?: Error } = {}
  const service: AcceptanceService = {
    accept: async (tools, author) => {
      if (!author) requests.push(`seen ${tools.map(({ name }) => name).join()}`)
      if (state.failure) throw state.failure
      return object.accept(tools, author)
    },
  }
  const isolate = (namespace = elsewhereOf(kv)) =>
    approvedDefinitions({ namespace, catalogue: service, report: (entry) => void reports.push(entry) })
  const pass = (ms: number) => void vi.setSystemTime(Date.now() + ms)
  /** Brings the copy up, and lets what is remembered of it grow old. */
  const copied = async () => {
    await catalogue.settle()
    pass(10_000)
    kv.operations.length = 0
    requests.length = 0
  }
  return { kv, state, requests, reports, here: isolate(), elsewhere: isolate, pass, copied }
}

test('the definition that is seen first is accepted for all', async () => {
  const { here, elsewhere } = setup()
  expect(await here.of([fingerprint('a', '1'), fingerprint('a', '2', 'TOOL_B')])).toEqual([
    { hash: '1' },
    { hash: '2' },
  ])
  expect(await elsewhere().of([fingerprint('a', 'x'), fingerprint('a', 'x', 'TOOL_B')])).toEqual([
    { hash: '1' },
    { hash: '2' },
  ])
})

test('of several definitions first seen at the same time, one is accepted', async () => {
  const { elsewhere } = setup()
  const hashes = await Promise.all(['1', '2', '3'].map((hash) => elsewhere().of([fingerprint('a', hash)])))
  expect(new Set(hashes.map(([first]) => first?.hash)).size).toBe(1)
})

test('an acceptance takes effect here at once, and elsewhere once the copy has it', async () => {
  const { here, elsewhere, copied } = setup()
  const other = elsewhere()
  await here.of([fingerprint('a', '1')])
  await copied()
  expect(await other.of([fingerprint('a', '2')])).toEqual([{ hash: '1' }])
  await here.accept(fingerprint('a', '2'), by)
  expect([await here.of([fingerprint('a', '2')]), await other.of([fingerprint('a', '2')])]).toEqual([
    [{ hash: '2' }],
    [{ hash: '1' }],
  ])
  await copied()
  expect(await other.of([fingerprint('a', '2')])).toEqual([{ hash: '2' }])
  // An older copy, from farther away, changes nothing.
  expect(await here.of([fingerprint('a', '1')])).toEqual([{ hash: '2' }])
})

test('acceptances cost one read in ten seconds for any number of callers, and none without tools', async () => {
  const { kv, requests, here, copied, pass } = setup()
  await here.of([])
  expect(kv.operations).toEqual([])
  await here.of([fingerprint('a', '1')])
  await copied()
  const all = [fingerprint('a', '1'), fingerprint('a', '1', 'TOOL_MCP'), fingerprint('a', '1')]
  await Promise.all(all.map((tool) => here.of([tool])))
  pass(9999)
  await here.of(all)
  expect([kv.operations, requests]).toEqual([['get 1'], []])
  pass(1)
  await here.of(all)
  expect(kv.operations).toEqual(['get 1', 'get 1'])
})

test('if KV fails, remembered acceptances apply, and the catalogue is asked for the others', async () => {
  const { kv, requests, here, elsewhere, copied } = setup()
  await here.of([fingerprint('a', '1')])
  await copied()
  await here.of([fingerprint('a', '1')])
  await copied()
  kv.failure = new Error('429')
  expect(await here.of([fingerprint('a', '2')])).toEqual([{ hash: '1' }])
  expect(requests).toEqual([])
  expect(await elsewhere().of([fingerprint('a', '2')])).toEqual([{ hash: '1' }])
  expect(requests).toEqual(['seen a'])
})

test('if KV and the catalogue fail, only remembered acceptances apply', async () => {
  const { kv, state, here, elsewhere, copied } = setup()
  await here.of([fingerprint('a', '1')])
  await copied()
  kv.failure = new Error('429')
  state.failure = new Error('no catalogue')
  expect(await here.of([fingerprint('a', '1'), fingerprint('new', '1')])).toEqual([
    { hash: '1' },
    { fault: 'the catalogue failed' },
  ])
  expect(await elsewhere().of([fingerprint('a', '1')])).toEqual([{ fault: 'the catalogue failed' }])
})

test('an unreadable copy is ignored', async () => {
  const { kv, here, elsewhere, copied } = setup()
  await here.of([fingerprint('a', '1')])
  await copied()
  kv.stored.set(ACCEPTED_KEY, 'x')
  expect(await elsewhere().of([fingerprint('a', '2')])).toEqual([{ hash: '1' }])
})

test('a change is reported once, and again when the definition changes again', async () => {
  const { here, reports } = setup()
  for (const hash of ['1', '2', '2', '3', '3', '1', '2']) await here.of([fingerprint('a', hash)])
  expect(reports).toEqual(
    ['2', '3', '2'].map((hash) => ({ event: 'tool.held', name: 'a', place: 'TOOL_MCP', accepted: '1', hash })),
  )
})
