import { keptEdge } from './kept-edge.ts'
import { describe, expect, test } from 'vitest'
import { JURISDICTIONS } from '../../src/contract/conversation.ts'
import type { Setup } from '../../src/contract/setup.ts'
import { withDefaults } from '../../src/http/runs/place-run.ts'
import { conversationStub } from '../../src/http/runs/conversation-stub.ts'

describe('the settings of a conversation', () => {
  test('are the defaults of its requests', () => {
    const settings = { system: 'S', model: 'p/m', context: { a: 1, b: 1 }, limits: { steps: 3 }, ttlSeconds: 5 }
    expect(withDefaults(settings, {})).toEqual({
      system: 'S',
      model: 'p/m',
      context: { a: 1, b: 1 },
      limits: { steps: 3 },
    })
    const body = { system: 'T', model: undefined, context: { b: 2 }, limits: { calls: 1 }, input: [] }
    expect(withDefaults(settings, body as object)).toEqual({
      system: 'T',
      model: 'p/m',
      context: { a: 1, b: 2 },
      limits: { steps: 3, calls: 1 },
      input: [],
    })
    expect(withDefaults({}, {})).toEqual({})
  })
})

describe('the jurisdiction of a conversation', () => {
  test('is part of its id', () => {
    const lookups: unknown[] = []
    const objects = (place: string) => ({
      getByName: (...name: unknown[]) => {
        lookups.push([place, ...name])
        return {}
      },
      jurisdiction: (jurisdiction: string) => objects(jurisdiction),
    })
    const config = { apiKeys: [], identityProviders: [] }
    const setup = { conversations: objects('anywhere'), config, isolate: {} } as unknown as Setup
    const caller = { tenant: 'acme', scopes: [] }
    for (const id of ['conv_1', 'eu_1', ...JURISDICTIONS.map((each) => `${each}__1`)])
      conversationStub({ setup, caller }, id)
    conversationStub({ setup, caller }, 'conv_2', 'weur')
    expect(lookups).toEqual([
      ['anywhere', 'v1/acme/conv_1'],
      ['anywhere', 'v1/acme/eu_1'],
      ['eu', 'v1/acme/eu__1'],
      ['us', 'v1/acme/us__1'],
      ['fedramp', 'v1/acme/fedramp__1'],
      ['fedramp-high', 'v1/acme/fedramp-high__1'],
      ['anywhere', 'v1/acme/conv_2', { locationHint: 'weur' }],
    ])
  })
})

test('a conversation that exists is found, and not created, by a request that names it', async () => {
  const edge = keptEdge({ script: [] })
  const create = async (body: object) => {
    const response = await edge.post('/conversations', body)
    return [response.status, await response.json()]
  }
  expect(await create({ id: 'a', system: 'Be brief.' })).toEqual([201, { id: 'a' }])
  expect(await create({ id: 'a' })).toEqual([200, { id: 'a' }])
  expect(await create({ id: 'a', system: 'Be kind.' })).toMatchObject([409, { code: 'conversation_exists' }])
})
