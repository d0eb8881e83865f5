import * as v from 'valibot'
import { isObject } from '../../contract/json.ts'
import { MISSED_RULES, OVERLAPS, type ScheduleDefinition } from '../../contract/schedule.ts'
import { bodyFault, type DecodeResult, parseBody, prefixFault } from './body.ts'
import { decodeRunBody, runBody } from './request.ts'
import { idSchema, integerFrom, plainObject, someText } from '../schema.ts'

/** The shortest and the longest time between two runs of a schedule, in seconds. */
const LEAST_SECONDS = 60
const MOST_SECONDS = 366 * 86_400
const MOST_DAYS = 3650

/** The most characters of a cron expression, a time or the name of a time zone: a cron expression is compiled. */
const MOST_TIME = 512

const timeText = v.pipe(someText, v.maxLength(MOST_TIME, `may have at most ${MOST_TIME} characters.`))

function integerBetween(least: number, most: number) {
  return v.pipe(integerFrom(least), v.maxValue(most, `must be a whole number up to ${most}.`))
}

/** The body of `PUT /schedules/{name}`. */
export const scheduleBody = v.pipe(
  plainObject,
  v.strictObject({
    cron: v.exactOptional(timeText),
    timeZone: v.exactOptional(timeText),
    at: v.exactOptional(timeText),
    everySeconds: v.exactOptional(integerBetween(LEAST_SECONDS, MOST_SECONDS)),
    run: runBody,
    conversation: v.exactOptional(idSchema),
    keepDays: v.exactOptional(integerBetween(1, MOST_DAYS)),
    overlap: v.exactOptional(v.picklist(OVERLAPS)),
    missed: v.exactOptional(v.picklist(MISSED_RULES)),
    scopes: v.exactOptional(v.array(someText)),
    paused: v.exactOptional(v.boolean()),
  }),
)

/** The body of `PATCH /schedules/{name}`. */
export const scheduleChange = v.strictObject({ paused: v.boolean() })

/** Parses the definition of a schedule. Its run stays as it was sent, and is parsed once more when it is due. */
export function decodeScheduleBody(body: unknown): DecodeResult<ScheduleDefinition> {
  const parsed = parseBody(scheduleBody, body)
  if (!parsed.ok) return parsed
  const { cron, timeZone, at, everySeconds, conversation, keepDays } = parsed.request
  const times = [cron, at, everySeconds].filter((each) => each !== undefined).length
  if (times !== 1) return bodyFault('cron', 'exactly one of "cron", "at" and "everySeconds" is required.', times === 0)
  if (timeZone !== undefined && cron === undefined) return bodyFault('timeZone', 'is for "cron" alone.')
  if (conversation !== undefined && keepDays !== undefined)
    return bodyFault('keepDays', 'is for runs that have a conversation each, without "conversation".')
  const run = isObject(body) && isObject(body['run']) ? body['run'] : {}
  const decoded = decodeRunBody(run)
  if (!decoded.ok) return prefixFault('run.', decoded)
  return { ok: true, request: { ...parsed.request, run } }
}

/** Parses what a request changes of a schedule. */
export function decodeScheduleChange(body: unknown): DecodeResult<{ readonly paused: boolean }> {
  return parseBody(scheduleChange, body)
}
