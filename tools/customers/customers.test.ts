import { describe, expect, test } from 'vitest'
import { customerCard, getCustomer } from './tools.ts'
import { runContext } from '../../test/fixtures/run-context.ts'

const of = (tenant: string, values = {}) => runContext(undefined, { caller: { tenant, scopes: [] }, values })

const ADA = {
  id: 42,
  name: 'Ada Okafor',
  company: 'Okafor Instruments',
  email: 'ada@okafor.example',
  plan: 'enterprise',
  since: '2021-03-17',
  openOrders: 3,
}

describe('getCustomer', () => {
  test('returns the record of the calling tenant', async () => {
    expect(await getCustomer.call({ id: 42 }, of('acme'))).toEqual({
      ok: true,
      content: [{ type: 'text', text: JSON.stringify(ADA) }],
      structured: ADA,
    })
    expect(await getCustomer.call({ id: 42 }, of('globex'))).toMatchObject({ structured: { name: 'Mateo Ferreira' } })
  })

  test.each([
    ['acme', 108],
    ['globex', 7],
    ['acme', 1],
    ['initech', 42],
    ['__proto__', 42],
  ])('for %s, reports customer %d exactly like an unknown one', async (tenant, id) => {
    expect(await getCustomer.call({ id }, of(tenant))).toEqual({
      ok: false,
      error: { code: 'unknown_customer', message: `There is no customer ${id}.` },
    })
  })

  test('does not take the tenant as an argument', async () => {
    expect(await getCustomer.call({ id: 42, tenantId: 'globex' }, of('acme'))).toMatchObject({
      ok: false,
      error: { code: 'invalid_arguments' },
    })
  })
})

test('a customer card is text for people, and ends the run', async () => {
  expect(await customerCard.call({ id: 42 }, of('globex'))).toEqual({
    ok: true,
    content: [
      {
        type: 'text',
        text: 'Mateo Ferreira, Ferreira Cork\nCustomer 42 since 2023-08-29, team plan\n1 open order\nmateo@ferreira.example',
      },
    ],
  })
  expect(await customerCard.describe()).toMatchObject({ returnDirect: 'always' })
})

test.each(['globex', '', 7, null, ['acme']])('the tool context cannot name another tenant: %j', async (tenantId) => {
  for (const tool of [getCustomer, customerCard]) {
    expect(await tool.call({ id: 42 }, of('acme', { tenantId }))).toEqual({
      ok: false,
      error: {
        code: 'wrong_tenant',
        message:
          'Customers cannot be looked up here: the calling application names another tenant in the tool context than ' +
          'that of its API key. No argument can change that, so do not try again.',
      },
    })
  }
  expect(await getCustomer.call({ id: 42 }, of('acme', { tenantId: 'acme' }))).toMatchObject({ ok: true })
})

test('definitions and answers name no tenant', async () => {
  for (const tool of [getCustomer, customerCard]) {
    const bodyText = JSON.stringify([await tool.describe(), await tool.call({ id: 42 }, of('acme'))])
    expect(bodyText).not.toMatch(/tenant|acme/i)
  }
})
