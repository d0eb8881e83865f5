import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Objects } from '../../src/contract/conversation.ts'
import type { DirectoryService } from '../../src/contract/directory.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const [acme, other] = [bearer('acme'), bearer('other')]
const keys = withKeys(apiKey('acme'), apiKey('other', { tenant: 'other' }))

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

type Fail = (tenant: string, method: string) => void

/** An edge whose directories note what is called (`tenant method`), and fail as `fail` does. */
function observedEdge(fail: Fail = () => {}, vars: Record<string, unknown> = {}) {
  const inner = memoryDirectories()
  const calls: string[] = []
  const failing = { fail }
  const directories: Objects<DirectoryService> = {
    getByName: (tenant) =>
      new Proxy(inner.getByName(tenant), {
        get: (directory, method) => {
          const call = Reflect.get(directory, method)
          if (typeof call !== 'function') return call
          return async (...values: unknown[]) => {
            calls.push(`${tenant} ${String(method)}`)
            failing.fail(tenant, String(method))
            return Reflect.apply(call, directory, values)
          }
        },
      }),
  }
  const script = Array.from({ length: 20 }, () => say('Hi.'))
  const edge = keptEdge({ script, vars: { ...keys, ...vars }, setup: { directories } })
  const chat = (id: string, headers: Record<string, string>) =>
    edge.post(
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'Hi' }] },
      { ...headers, 'x-conversation-id': id },
    )
  const list = async (headers: Record<string, string>) => (await edge.fetch('/conversations', { headers })).json()
  return { ...edge, calls, failing, chat, list }
}

const overload: Fail = (tenant) => {
  if (tenant === 'acme') throw Object.assign(new Error('Durable Object is overloaded.'), { overloaded: true })
}

describe('a tenant whose directory is overloaded', () => {
  test('gets its runs answered in new conversations, and sees them listed once the directory recovers', async () => {
    const edge = observedEdge(overload)
    expect((await edge.post('/conversations', { id: 'a' }, acme)).status).toBe(201)
    expect((await edge.chat('b', acme)).status).toBe(200)
    await edge.settle()
    edge.failing.fail = () => {}
    expect(await edge.list(acme)).toEqual([])
    vi.setSystemTime(Date.now() + 60_000)
    await edge.settle()
    expect(await edge.list(acme)).toEqual([{ id: 'a' }, { id: 'b' }])
  })

  test('gets more conversations than its quota, until the directory answers again', async () => {
    const edge = observedEdge(() => {}, { MAX_CONVERSATIONS: 1 })
    await edge.chat('a', acme)
    await edge.settle()
    edge.failing.fail = overload
    expect((await edge.chat('b', acme)).status).toBe(200)
    edge.failing.fail = () => {}
    expect((await edge.chat('c', acme)).status).toBe(507)
  })

  test('does not affect another tenant', async () => {
    const edge = observedEdge(overload)
    await edge.chat('a', acme)
    expect((await edge.chat('a', other)).status).toBe(200)
    await edge.settle()
    expect(await edge.list(other)).toEqual([{ id: 'a' }])
  })
})

describe('a run without a budget', () => {
  test('calls no directory in an existing conversation, and only to list a new one', async () => {
    const edge = observedEdge()
    await edge.chat('a', acme)
    await edge.settle()
    expect(edge.calls.toSorted()).toEqual(['acme add', 'acme room'])
    edge.calls.length = 0
    await edge.chat('a', acme)
    await edge.post('/runs', { input: 'Hi' }, acme)
    await edge.settle()
    expect(edge.calls).toEqual([])
    // The totals are asked for beside a request, once a minute.
    await edge.chat('b', acme)
    await edge.settle()
    expect(edge.calls).toEqual(['acme add'])
  })
})
