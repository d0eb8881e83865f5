import * as edge from 'edgecall'
import { describe, expect, test } from 'vitest'
import { WEBHOOK_SERVICES } from '../../src/cli/document/webhook-services.ts'
import recorded from '../fixtures/webhook-deliveries.json' with { type: 'json' }

/** The table of docs/webhooks.md says what the schemes do. */
const SCHEMES = Object.entries(edge)
  .filter(([name]) => name.endsWith('Webhooks'))
  .map(([name, make]) => [name, (make as (...variables: string[]) => edge.WebhookScheme)('SECRET', 'TOKEN')] as const)

test('the table of services has every scheme of the package', () => {
  expect(SCHEMES.map(([name]) => name).toSorted()).toEqual(Object.keys(WEBHOOK_SERVICES).toSorted())
})

describe.each(SCHEMES)('the row of %s', (name, scheme) => {
  const row = Object.entries(WEBHOOK_SERVICES).find(([each]) => each === name)?.[1] ?? expect.unreachable(name)
  const delivery = recorded.find((each) => each.scheme === name) ?? expect.unreachable(name)
  const verify = async ({ now = delivery.now, without = '' }: { now?: number; without?: string }) => {
    const { url, body, secret } = delivery
    const headers = new Headers(delivery.headers as unknown as Record<string, string>)
    headers.delete(without || 'none')
    const request = { method: 'POST', url, headers, body, bytes: Uint8Array.from(Buffer.from(body)), now }
    return typeof (await scheme.verify(request, [secret], {})) === 'string'
  }

  test('says the header, for how long a signature counts, and whether it has an answer of its own', async () => {
    const header = 'header' in row ? row.header : ''
    expect({
      isAccepted: await verify({}),
      isAcceptedWithoutHeader: await verify({ without: header }),
      isAcceptedLate: await verify({ now: delivery.now + 301_000 }),
      hasAnswer: scheme.acknowledge !== undefined,
    }).toEqual({
      isAccepted: true,
      isAcceptedWithoutHeader: header === '',
      isAcceptedLate: !row.isTimed,
      hasAnswer: /200|TwiML|interaction/.test(row.answers),
    })
  })
})
