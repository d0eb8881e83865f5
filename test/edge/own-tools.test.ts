import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import type { ToolCase } from '../../src/testing/call-checks.ts'
import { type RunningTool, startTool } from '../../src/testing/running-tool.ts'
import { hasSamples } from './stage.ts'

async function withTool<Result>(
  name: string,
  vars: Record<string, string>,
  use: (tool: RunningTool) => Promise<Result>,
): Promise<Result> {
  const tool = await startTool(`tools/${name}`, { vars })
  try {
    return await use(tool)
  } finally {
    await tool.close()
  }
}

/** A customer that only this tenant has. */
const ada: ToolCase = { arguments: { id: 42 }, context: { caller: { tenant: 'acme', scopes: [] } } }

/** Arguments with which the tools that only read succeed. */
const READERS: Record<string, Record<string, ToolCase>> = {
  calculator: { calculate: { arguments: { expression: '6 * 7' } }, squareRoot: { arguments: { number: 2 } } },
  clock: { currentTime: { arguments: { timeZone: 'Europe/Oslo' } }, shiftTime: { arguments: { days: 2 } } },
  customers: { getCustomer: ada, customerCard: ada },
  weather: { forecast: { arguments: { place: 'Oslo' } } },
  web: { webSearch: { arguments: { query: 'Oslo' } } },
}

const DAY_MS = 86_400_000

/** The day so many days from now, as YYYY-MM-DD. */
function dayAfter(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
}

async function structuredOf(tool: RunningTool, name: string, input: object): Promise<any> {
  const outcome = await tool.call(name, { ...input })
  return outcome.ok ? outcome.structured : undefined
}

describe('a tool Worker of this repository keeps the contract, with calls that take effect:', () => {
  test.each(Object.entries(READERS).filter(([name]) => hasSamples(name)))('%s', async (name, cases) => {
    expect(await withTool(name, {}, (tool) => tool.conformance(cases))).toEqual([])
  })

  test.runIf(hasSamples('bookings'))('bookings, which is one booking for each key, crash or not', async () => {
    const faults = await withTool('bookings', {}, (tool) => {
      // Numbers rise by one with each booking; B-12345 is there from the start.
      const effects = async () => {
        let count = 0
        while (await structuredOf(tool, 'findBooking', { number: `B-${12_346 + count}` })) count += 1
        return count
      }
      let day = 2
      const stay = () => ({ guest: 'Noor Haddad', room: 'single', checkIn: dayAfter((day += 1)), nights: 1 })
      return tool.conformance({
        bookRoom: { arguments: stay, effects },
        findBooking: { arguments: { number: 'B-12345' } },
        cancelBooking: { arguments: { number: 'B-12345' } },
      })
    })
    expect(faults).toEqual([])
  })

  test.runIf(hasSamples('alarm'))('alarm, which sets one alarm for each key, crash or not', async () => {
    const faults = await withTool('alarm', {}, (tool) => {
      const effects = async () => (await structuredOf(tool, 'listAlarms', {})).alarms.length
      const alarm = { time: `${dayAfter(9)}T09:00:00Z`, message: 'Take the bread out.' }
      return tool.conformance({ setAlarm: { arguments: alarm, effects }, listAlarms: { arguments: {} } })
    })
    expect(faults).toEqual([])
  })

  test.runIf(hasSamples('mail'))('mail, which is lost between sending a mail and recording that', async () => {
    const service = await startMailService()
    const faults = await withTool('mail', { STAND_IN: '', MAIL_URL: service.url }, (tool) => {
      const mail = { to: 'friend@example.com', subject: 'News', text: 'Nothing new.' }
      const effects = () => service.keys.length
      const untilCrash = () => service.hold()
      return tool.conformance({ sendMail: { arguments: mail, effects, untilCrash }, listSent: { arguments: {} } })
    })
    service.close()
    expect(faults).toEqual([])
  })
})

/** A mail service that sends every mail that it is given, whatever its key. */
async function startMailService() {
  const keys: string[] = []
  let onMail: (() => void) | undefined
  const server = createServer(async (request, response) => {
    await text(request)
    keys.push(String(request.headers['idempotency-key']))
    if (onMail) return onMail()
    response.setHeader('connection', 'close')
    response.end(JSON.stringify({ id: `m-${keys.length}`, source: 'test' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    keys,
    /** Resolves once the next mail has been sent; its sender never hears of it. */
    hold: () =>
      new Promise<void>((resolve) => {
        onMail = () => {
          onMail = undefined
          resolve()
        }
      }),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
