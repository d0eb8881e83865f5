import * as v from 'valibot'
import { defineTool, type RunContext, ToolError } from 'edgecall/tool'
import type { AlarmEnv } from './alarms.ts'
import { MOST_PENDING, type Refusal } from './store.ts'
import { parseMoment } from './time.ts'

const id = v.pipe(v.string(), v.description('Id of the alarm.'))
const time = v.pipe(v.string(), v.description('ISO 8601 date-time with UTC offset.'))

/** Sets an alarm. */
export const setAlarm = defineTool({
  name: 'setAlarm',
  title: 'Set an alarm',
  description:
    'Sets an alarm or reminder that goes off by itself at a moment within the next year. Use it when someone asks to ' +
    'be reminded or woken, or that something be remembered for later. Work out the moment first, from the current ' +
    'time if need be. Answers the id of the alarm, by which it can be cancelled, its time and its message.',
  input: v.strictObject({
    time: v.pipe(
      v.string(),
      v.description(
        'When: ISO 8601 date-time with the UTC offset of the person who asks, such as "2026-11-20T09:30:00+01:00".',
      ),
    ),
    message: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(1000),
      v.description('What to say then, such as "Take the bread out of the oven".'),
    ),
  }),
  output: v.object({ id, time, message: v.string() }),
  annotations: { readOnly: false, idempotent: true, destructive: false, openWorld: false },
  run: async ({ time, message }, context: RunContext<AlarmEnv>) => {
    const at = momentOf(time)
    const answer = await alarmsOf(context).set({
      key: context.idempotencyKey,
      tenant: context.caller.tenant,
      message,
      time,
      at,
    })
    if (typeof answer === 'string') throw alarmError(answer, time)
    return answer
  },
})

/** Lists the pending alarms and those that fired lately. */
export const listAlarms = defineTool({
  name: 'listAlarms',
  title: 'List alarms',
  description:
    'Lists the alarms that are set, the next one first, and after them those that went off in the last days, the last ' +
    'one first. Use it to tell what is planned, or to find the id of an alarm to cancel. Answers id, time, message and ' +
    'state (pending or fired) of each; for a fired one also when it fired and whether its notice was delivered.',
  input: v.strictObject({}),
  output: v.object({
    alarms: v.array(
      v.object({
        id,
        time,
        message: v.string(),
        state: v.picklist(['pending', 'fired']),
        firedAt: v.optional(v.pipe(v.string(), v.description('ISO 8601 in UTC.'))),
        delivery: v.optional(v.picklist(['trying', 'delivered', 'failed'])),
      }),
    ),
  }),
  annotations: { readOnly: true, idempotent: true, openWorld: false },
  run: async (_, context: RunContext<AlarmEnv>) => ({ alarms: await alarmsOf(context).list() }),
})

/** Cancels a pending alarm. */
export const cancelAlarm = defineTool({
  name: 'cancelAlarm',
  title: 'Cancel an alarm',
  description:
    'Cancels an alarm that has not gone off yet. Use it when a reminder is no longer wanted; to move one, cancel it ' +
    'and set another. Answers the id once the alarm will not go off.',
  input: v.strictObject({
    id: v.pipe(v.string(), v.description('Id of the alarm, as setAlarm or listAlarms answered it.')),
  }),
  output: v.object({ id, state: v.literal('cancelled') }),
  annotations: { readOnly: false, idempotent: true, destructive: true, openWorld: false },
  run: async ({ id }, context: RunContext<AlarmEnv>) => {
    const state = await alarmsOf(context).cancel(id)
    if (state === 'cancelled') return { id, state }
    if (state === 'fired') throw new ToolError(`The alarm "${id}" has gone off already.`, { code: 'already_fired' })
    throw new ToolError(`There is no alarm "${id}". listAlarms returns the ids.`, { code: 'unknown_alarm' })
  },
})

/** Returns the alarms of the tenant that the caller's key belongs to, whatever the tool context says. */
function alarmsOf({ env, caller }: RunContext<AlarmEnv>) {
  return env.ALARMS.get(env.ALARMS.idFromName(caller.tenant))
}

function momentOf(time: string): number {
  const moment = parseMoment(time)
  if (typeof moment === 'number') return moment
  throw new ToolError(
    moment === 'no-offset'
      ? `"${time}" has no UTC offset. Add that of the person who asks, as in "${time}+01:00", or "Z" for UTC.`
      : `"${time}" is not a date-time. Send ISO 8601 with the UTC offset, such as "2026-11-20T09:30:00+01:00".`,
    { code: 'invalid_time' },
  )
}

function alarmError(why: Refusal, time: string): ToolError {
  const now = `${new Date().toISOString().slice(0, 19)}Z`
  switch (why) {
    case 'past':
      return new ToolError(`"${time}" has passed: it is ${now} now. Send a later time.`, { code: 'time_passed' })
    case 'too-far':
      return new ToolError(`"${time}" is over a year ahead: it is ${now} now.`, { code: 'time_too_far' })
    default:
      return new ToolError(`There are ${MOST_PENDING} alarms already. Cancel some first.`, { code: 'too_many_alarms' })
  }
}
