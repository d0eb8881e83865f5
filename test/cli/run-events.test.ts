import { expect, test } from 'vitest'
import { readersOfEvents } from '../../src/cli/document/run-events.ts'

const ROOT = new URL('../..', import.meta.url).pathname

test('each event of a run is shown by somebody, and the studio shows all of them', () => {
  const readers = Object.entries(readersOfEvents(ROOT))
  expect(readers.length).toBeGreaterThan(40)
  expect(readers.filter(([, names]) => !names.includes('the studio'))).toEqual([])
})

test('who shows an event follows from the code of its readers', () => {
  const { 'call.settled': result, 'program.woken': timer, 'run.waiting': wait } = readersOfEvents(ROOT)
  expect(result).toEqual([
    ...['Chat Completions', 'Responses', 'Messages', 'useChat', 'AG-UI', 'the studio', 'the terminal'],
    ...['the log', 'traces', 'metrics'],
  ])
  expect(timer).toEqual(['the studio'])
  expect(wait).toContain('the log')
})
