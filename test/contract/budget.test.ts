import { describe, expect, test } from 'vitest'
import { leftOf, periodOf } from '../../src/contract/budget.ts'
import { readConfig } from '../../src/contract/config.ts'
import { apiKey } from '../fixtures/keys.ts'

const keysOf = (extra: object) => readConfig({ API_KEYS: JSON.stringify([apiKey('k', extra)]) }).apiKeys

describe('a period', () => {
  const period = (per: 'day' | 'month', time: string) => {
    const { from, to } = periodOf(per, Date.parse(time))
    return [new Date(from).toISOString(), new Date(to).toISOString()]
  }

  test('is a day or a month of UTC, and ends where the next begins', () => {
    expect(period('day', '2026-12-31T23:59:59.999Z')).toEqual(['2026-12-31T00:00:00.000Z', '2027-01-01T00:00:00.000Z'])
    expect(period('day', '2027-01-01T00:00:00Z')).toEqual(['2027-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z'])
    expect(period('month', '2028-02-29T12:00:00Z')).toEqual(['2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'])
    expect(period('month', '2026-12-01T00:30:00+01:00')[1]).toBe('2026-12-01T00:00:00.000Z')
  })
})

test('what is left of a budget is of what it names, and never below nothing', () => {
  const spent = { tokens: 70, cost: 3, runs: 2 }
  expect(leftOf({ tokens: 100, cost: 2.5, per: 'day' }, spent)).toEqual({ tokens: 30, cost: 0 })
  expect(leftOf({ per: 'month' }, spent)).toEqual({})
})

describe('a key of the configuration', () => {
  test('may have a rate and a budget', () => {
    expect(keysOf({ rate: 'RATE_STANDARD', budget: { tokens: 1000, per: 'day' } })).toMatchObject([
      { rate: 'RATE_STANDARD', budget: { tokens: 1000, per: 'day' } },
    ])
    const [plain] = keysOf({})
    expect(Object.keys(plain!)).toEqual(['sha256', 'tenant', 'scopes', 'expires'])
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
  ])('is wrong with %j', (extra) => {
    expect(() => keysOf(extra)).toThrow('API_KEYS must be a JSON array')
  })
})
