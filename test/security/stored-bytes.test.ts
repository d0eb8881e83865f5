import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { reportAddresses } from '../../src/http/runs/take-report.ts'
import { settle } from '../fixtures/settle.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { type KeptEdge, keptEdge } from '../http/kept-edge.ts'
import { controlledEdge } from './controlled-edge.ts'

/**
 * The control of stored bytes, for all that writes to conversations. Each writer tries to store far more than
 * `MAX_STORED_BYTES`. As conversations report their size each time that it has doubled, at most twice as much is stored.
 */

const KIB = 1024
const QUOTA = 512 * KIB
/** How often a writer writes, and how much at a time. */
const TIMES = 40
const TEXT = 'x'.repeat(200 * KIB)
/** What is stored before the directory has answered. */
const IN_FLIGHT = 8 * TEXT.length
const JSON_TYPE = { 'content-type': 'application/json' }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

interface Writer {
  readonly script?: readonly Script[]
  /** Writes; the status of each request is collected. */
  readonly write: (edge: WriterEdge) => Promise<void>
  /** Whether the writer is refused once there is no room. Default: it is. Others store less. */
  readonly isRefused?: boolean
}

interface WriterEdge extends KeptEdge {
  readonly tokens: string[]
  readonly statuses: number[]
  /** Sends a request and lets what follows it end. */
  readonly send: (path: string, json: unknown, init?: RequestInit) => Promise<any>
}

const many = (name: string) => ask(...Array.from({ length: TIMES }, (_, n): [string, object] => [name, { n }]))
const times = async (work: (n: number) => Promise<unknown>) => {
  for (let n = 0; n < TIMES; n++) await work(n)
}
const waitFor = async ({ send }: WriterEdge, more: object = {}) => {
  await send('/conversations', { id: 'c' })
  return send('/conversations/c/runs', { input: 'Go', ...more })
}
const answers = Array.from({ length: TIMES }, () => say('Hi.'))

const WRITERS: Readonly<Record<string, Writer>> = {
  'messages of runs': {
    script: answers,
    write: async ({ send }) => {
      await send('/conversations', { id: 'c' })
      await times(() => send('/conversations/c/runs', { input: TEXT }))
    },
  },
  'messages of chat completions': {
    script: answers,
    write: ({ send }) =>
      times(() =>
        send(
          '/v1/chat/completions',
          { messages: [{ role: 'user', content: TEXT }] },
          { headers: { ...JSON_TYPE, 'x-conversation-id': 'c' } },
        ),
      ),
  },
  files: {
    script: answers,
    write: async ({ send }) => {
      await send('/conversations', { id: 'c' })
      const url = `data:image/png;base64,${btoa(TEXT)}`
      const content = [{ type: 'image_url', image_url: { url } }]
      const headers = { ...JSON_TYPE, 'x-conversation-id': 'c' }
      await times(() => send('/v1/chat/completions', { messages: [{ role: 'user', content }] }, { headers }))
    },
  },
  'input of a run under way': {
    script: [ask(['pick']), ...answers],
    write: async (edge) => {
      const { id, calls } = await waitFor(edge, { clientTools: [{ name: 'pick' }] })
      await times(() => edge.send('/conversations/c/runs', { input: TEXT, onBusy: 'steer' }))
      await edge.send(`/conversations/c/runs/${id}/calls/${calls[0].id}`, { result: 'left' })
    },
  },
  'results of client tools': {
    script: [many('pick'), say('Done.')],
    write: async (edge) => {
      const { id, calls } = await waitFor(edge, { clientTools: [{ name: 'pick' }] })
      await times((n) => edge.send(`/conversations/c/runs/${id}/calls/${calls[n].id}`, { result: TEXT }))
    },
  },
  'changed arguments of approved calls': {
    script: [many('pay'), say('Done.')],
    write: async (edge) => {
      const { id, calls } = await waitFor(edge)
      await times((n) =>
        edge.send(`/conversations/c/runs/${id}/calls/${calls[n].id}`, { decision: 'approve', arguments: { TEXT } }),
      )
    },
  },
  'results of tools': { script: [many('large'), say('Done.')], isRefused: false, write: waitFor },
  'progress of tools': {
    script: [many('chatter'), say('Done.')],
    isRefused: false,
    write: waitFor,
  },
  'reported progress': {
    script: [many('render'), say('Done.')],
    isRefused: false,
    write: async (edge) => {
      await waitFor(edge)
      const message = 'x'.repeat(15 * KIB)
      for (const token of edge.tokens)
        for (let count = 0; count < 20; count++) await edge.send(`/outcomes/${token}`, { progress: { message } })
    },
  },
  'reported outcomes': {
    script: [many('render'), say('Done.')],
    write: async (edge) => {
      await waitFor(edge)
      await times((n) => edge.send(`/outcomes/${edge.tokens[n]}`, { result: TEXT }))
    },
  },
  'late outcomes': {
    script: [many('slow'), say('Done.')],
    isRefused: false,
    write: (edge) => waitFor(edge, { limits: { callMs: 1 } }),
  },
  'settings of conversations': {
    write: ({ send }) => times((n) => send('/conversations', { id: `c${n}`, system: TEXT })),
  },
  forks: {
    script: [say(TEXT)],
    write: async (edge) => {
      await waitFor(edge)
      const messages = (await (await edge.fetch('/conversations/c/messages')).json()) as any[]
      const at = Math.max(...messages.map(({ position }) => position))
      await times((n) => edge.send('/conversations/c/fork', { at, id: `f${n}` }))
    },
  },
  'restored copies': {
    script: [say(TEXT)],
    write: async (edge) => {
      await waitFor(edge)
      const copy = await (await edge.fetch('/backups/c')).arrayBuffer()
      await times((n) => edge.send(`/backups/b${n}`, undefined, { method: 'PUT', body: copy }))
    },
  },
}

async function writerEdge(script: readonly Script[]): Promise<WriterEdge> {
  const tokens: string[] = []
  const statuses: number[] = []
  const later = { within: 3_600_000 }
  const tools = [
    tool('large', () => TEXT),
    tool('pay', () => 'paid', { approval: 'always' }),
    tool('slow', () => new Promise((resolve) => setTimeout(() => resolve(TEXT), 20))),
    tool('chatter', async (_, __, control) => {
      for (let count = 0; count < 20; count++) await control.progress({ data: 'x'.repeat(15 * KIB) })
    }),
    tool(
      'render',
      (_, { reportTo }) => {
        tokens.push(reportTo?.token ?? '')
        return { ok: false, error: { code: 'later', message: 'Later.' }, later }
      },
      { later: true },
    ),
  ]
  const edge = keptEdge({
    script,
    tools,
    vars: { MAX_STORED_BYTES: QUOTA, MAX_RESULT_BYTES: 4096, MAX_CALLS: 100, MAX_CALLS_PER_STEP: 100 },
    setup: {
      reportAddresses: reportAddresses({ secrets: ['a secret of the deployment'], filter: undefined }),
    },
  })
  const send: WriterEdge['send'] = async (path, json, init = {}) => {
    const text = JSON.stringify(json)
    const headers = { ...JSON_TYPE, ...(text !== undefined && { 'content-length': String(text.length) }) }
    const body = text === undefined ? {} : { body: text }
    const response = await edge.fetch(path, { method: 'POST', headers, ...body, ...init })
    statuses.push(response.status)
    const answer = await response.text()
    await settle()
    return answer === '' ? undefined : JSON.parse(answer)
  }
  return { ...edge, tokens, statuses, send }
}

function storedBytes({ objects }: KeptEdge): number {
  const sizes = [...objects.values()].map((object) => (object as any).ctx.storage.sql.databaseSize as number)
  return sizes.reduce((sum, size) => sum + size, 0)
}

describe.each(Object.entries(WRITERS))('%s', (_, { script = [], write, isRefused = true }) => {
  test('are held by MAX_STORED_BYTES', async () => {
    const edge = await writerEdge(script)
    await write(edge)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(storedBytes(edge)).toBeLessThan(2 * QUOTA + IN_FLIGHT)
    expect(edge.statuses.some((status) => status === 507)).toBe(isRefused)
    expect(edge.statuses.filter((status) => status >= 400 && status !== 507)).toEqual([])
  })
})

test('notes on messages that have left the window have at most 16,000 characters', async () => {
  const isForNotes = (text: string) => text.includes('You keep the memory')
  const answer: Script = ({ messages }) => say(isForNotes(JSON.stringify(messages[0])) ? TEXT : 'Hi.')
  const edge = await writerEdge(Array.from({ length: 3 * TIMES }, () => answer))
  await edge.send('/conversations', { id: 'c', window: { messages: 1, summary: true } })
  await times(() => edge.send('/conversations/c/runs', { input: 'Hi' }))
  const notes = edge.requests.flatMap(({ messages }) =>
    messages.filter(({ role, content }) => role === 'system' && !isForNotes(JSON.stringify(content))),
  )
  // While there is no summary yet, a note names the id under which what has left can be read.
  const sizes = new Set(notes.flatMap(({ content }) => JSON.stringify(content).match(/x{9,}/)?.[0].length ?? []))
  expect([...sizes]).toEqual([16_000])
})

test('schedules are held by MAX_STORED_BYTES', async () => {
  const key = 'acme: chat schedules'
  const { as } = controlledEdge({ workers: {}, keys: [key], vars: { MAX_STORED_BYTES: QUOTA, MAX_SCHEDULES: 100 } })
  const statuses: number[] = []
  await times(async (n) => {
    const json = { everySeconds: 60, run: { input: TEXT } }
    statuses.push((await as(key)(`/schedules/s${n}`, { method: 'PUT', json })).status)
  })
  expect(statuses).toEqual([201, 201, 201, ...Array.from({ length: TIMES - 3 }, () => 507)])
  const change = async (input: string) => {
    const json = { everySeconds: 60, run: { input } }
    return (await as(key)('/schedules/s0', { method: 'PUT', json })).status
  }
  expect([await change(`${TEXT} and more`), await change(TEXT), await change('less')]).toEqual([507, 200, 200])
})
