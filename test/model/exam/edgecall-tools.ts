import { currentTime, shiftTime } from '../../../tools/clock/tools.ts'
import type { DefinedTool, RunContext } from '../../../src/tool/define.ts'
import type { Alarms } from '../../../tools/alarm/alarms.ts'
import { addAlarm, createTable, endAlarm, type NewAlarm, readAlarms } from '../../../tools/alarm/store.ts'
import { cancelAlarm, listAlarms, setAlarm } from '../../../tools/alarm/tools.ts'
import { calculate, squareRoot } from '../../../tools/calculator/tools.ts'
import { customerCard, getCustomer } from '../../../tools/customers/tools.ts'
import { forecast } from '../../../tools/weather/tools.ts'
import { isObject } from '../../../src/contract/json.ts'
import { runContext } from '../../fixtures/run-context.ts'
import { memorySql } from '../../fixtures/sqlite.ts'
import type { Arguments, Deed, ExamTool } from './exam-tool.ts'
import { HOME } from './moment.ts'

/** The tools of this repository, by name, with no alarms set. */
export async function edgecallTools(): Promise<Record<HouseName, ExamTool>> {
  const alarms = { ALARMS: memoryAlarms() }
  return {
    setAlarm: await played(setAlarm, alarms, ({ time, message }) => {
      return { does: 'remind', at: Date.parse(String(time)), message: String(message) }
    }),
    listAlarms: await played(listAlarms, alarms, somethingElse),
    cancelAlarm: await played(cancelAlarm, alarms, somethingElse),
    calculate: await played(calculate, undefined, ({ expression }) => ({ does: 'root', value: radicand(expression) })),
    squareRoot: await played(squareRoot, undefined, ({ number }) => ({ does: 'root', value: Number(number) })),
    currentTime: await played(currentTime, undefined, readClock),
    shiftTime: await played(shiftTime, undefined, readClock),
    getCustomer: await played(getCustomer, undefined, lookUp),
    customerCard: await played(customerCard, undefined, lookUp),
    forecast: await played(forecast, {}, (_, { place, date, temperatureMinC, temperatureMaxC }) => {
      const temperatures = [Number(temperatureMinC), Number(temperatureMaxC)]
      return { does: 'weather', place: String(place), date: String(date), temperatures }
    }),
  }
}

export type HouseName =
  | 'setAlarm'
  | 'listAlarms'
  | 'cancelAlarm'
  | 'calculate'
  | 'squareRoot'
  | 'currentTime'
  | 'shiftTime'
  | 'getCustomer'
  | 'customerCard'
  | 'forecast'

const VALUES = { tenantId: 'acme', timeZone: HOME }

async function played<Env>(
  tool: DefinedTool<Env>,
  env: Env,
  deedOf: (args: Arguments, result: Arguments) => Deed,
): Promise<ExamTool> {
  let calls = 0
  return {
    definition: await tool.describe(),
    perform: async (args) => {
      const key = `${tool.name}-${(calls += 1)}`
      const context: RunContext<Env> = runContext(env, { values: VALUES, idempotencyKey: key })
      const outcome = await tool.call(args, context)
      if (!outcome.ok) return { outcome }
      return { outcome, deed: deedOf(args, isObject(outcome.structured) ? outcome.structured : {}) }
    },
  }
}

function somethingElse(): Deed {
  return { does: 'something else' }
}

function readClock(_: Arguments, { timeZone }: Arguments): Deed {
  return { does: 'clock', zone: String(timeZone) }
}

function lookUp({ id }: Arguments): Deed {
  return { does: 'customer', id: Number(id) }
}

/** The number that an expression takes the square root of, or NaN. */
function radicand(expression: unknown): number {
  const text = String(expression).replaceAll(' ', '')
  return Number(/^sqrt\((\d+)\)$|^(\d+)(?:\^|\*\*)(?:0?\.5|\(1\/2\))$/.exec(text)?.slice(1).find(Boolean))
}

function memoryAlarms(): DurableObjectNamespace<Alarms> {
  const sql = memorySql()
  createTable(sql)
  const object = {
    set: async (alarm: NewAlarm) => addAlarm(sql, alarm, Date.now()),
    list: async () => readAlarms(sql),
    cancel: async (id: string) => endAlarm(sql, id, Date.now()),
  }
  const namespace = { idFromName: (name: string) => name, get: () => object }
  return namespace as unknown as DurableObjectNamespace<Alarms>
}
