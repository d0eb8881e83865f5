import { describe, expect, test } from 'vitest'
import { periodOf } from '../../src/contract/budget.ts'
import { readConfig } from '../../src/contract/config.ts'
import { apiKey } from '../fixtures/keys.ts'

const keysOf = (extra: object) => readConfig({ API_KEYS: JSON.stringify([apiKey('k', extra)]) }).apiKeys

test('a budget period is a UTC day or month that ends where the next begins', () => {
  const period = (per: 'day' | 'month', time: string) => periodOf(per, Date.parse(time))
  expect(period('day', '2026-12-31T23:59:59.999Z')).toEqual({ from: '2026-12-31', to: '2027-01-01' })
  expect(period('day', '2028-02-29T00:00:00Z')).toEqual({ from: '2028-02-29', to: '2028-03-01' })
  expect(period('month', '2026-01-31T12:00:00Z')).toEqual({ from: '2026-01', to: '2026-02' })
  expect(period('month', '2026-12-01T00:30:00+01:00')).toEqual({ from: '2026-11', to: '2026-12' })
})

describe('a configured API key', () => {
  test('may have a rate and a budget', () => {
    expect(keysOf({ rate: 'RATE_STANDARD', budget: { tokens: 1000, per: 'day' } })).toMatchObject([
      { rate: 'RATE_STANDARD', budget: { tokens: 1000, per: 'day' } },
    ])
    const [plain] = keysOf({})
    expect(Object.keys(JSON.parse(JSON.stringify(plain)))).toEqual(['id', 'sha256', 'tenant', 'scopes', 'expires'])
  })

  test.each([
    { rate: '' },
    { rate: 5 },
    { rate: null },
    { budget: null },
    { budget: {} },
    { budget: { tokens: 10 } },
    { budget: { per: 'week' } },
    { budget: { tokens: 0, per: 'day' } },
    { budget: { tokens: '10', per: 'day' } },
    { budget: { cost: -1, per: 'month' } },
    { budget: { token: 10, per: 'day' } },
  ])('is invalid with %j', (extra) => {
    expect(() => keysOf(extra)).toThrow('API_KEYS must be a JSON array')
  })
})
