import type { JsonSchema } from '../../contract/json.ts'
import { SCHEDULE_OUTCOMES } from '../../contract/schedule.ts'
import { flag, list, object, ref, text } from './json-schema.ts'
import type { Routes } from './operation.ts'

const OBJECT = { type: 'object' }
const TIME = { type: 'string', format: 'date-time' }
const UNKNOWN = { 404: 'There is no such schedule, or the edge keeps none.' }

const SUMMARY = {
  name: text,
  overlap: text,
  missed: text,
  paused: flag,
  identity: {
    ...object({ scopes: list(text) }, { key: text }),
    description: 'As which key, and with which scopes, its runs are started.',
  },
  asks: { type: 'string', description: 'The beginning of what its runs are asked.' },
  recent: {
    ...list({ enum: SCHEDULE_OUTCOMES }),
    description: 'What came of the last ten due times, the newest first.',
  },
}
const TIMES = {
  cron: text,
  timeZone: text,
  at: TIME,
  everySeconds: { type: 'integer' },
  conversation: { type: 'string', description: 'The conversation of all runs; absent if each has one of its own.' },
  next: { ...TIME, description: 'The next due time; absent if there is none, and while it is paused.' },
  waiting: {
    ...object({ due: TIME, code: text, message: text }),
    description: 'The due time for which a run is still to be started, and why it was not yet.',
  },
  last: ref('ScheduleEntry'),
  marks: {
    ...list({ enum: ['untrusted', 'private'] }),
    description: 'What a run had read that stored the schedule; absent if no run did, or it had read nothing marked.',
  },
}

/** The schemas of what the routes of schedules answer. */
export const SCHEDULE_ANSWERS: Readonly<Record<string, JsonSchema>> = {
  ScheduleEntry: object(
    { due: TIME, at: TIME, outcome: { enum: SCHEDULE_OUTCOMES } },
    {
      run: { type: 'string', description: 'The run that was started, in `conversation`.' },
      conversation: text,
      code: { type: 'string', description: 'Why no run was started.' },
      message: text,
      missedFrom: { ...TIME, description: 'The first of the times that were missed before this one.' },
      manual: { const: true, description: 'The run was started by a request, not by a due time.' },
    },
  ),
  ScheduleSummary: object(SUMMARY, TIMES),
  Schedule: object(
    {
      ...SUMMARY,
      run: OBJECT,
      history: { ...list(ref('ScheduleEntry')), description: 'The newest first; at most 30.' },
    },
    { ...TIMES, keepDays: { type: 'integer' } },
  ),
}

/** The routes of runs that start by themselves. */
export const SCHEDULE_ROUTES: Routes = {
  '/schedules': {
    get: {
      tag: 'Schedules',
      id: 'listSchedules',
      summary: 'List the schedules of the tenant, by name',
      scope: 'schedules',
      query: { after: 'Return schedules after this name.', limit: 'The page size, at most 1000.' },
      answers: { 200: { says: 'The schedules.', json: { type: 'array', items: ref('ScheduleSummary') } } },
      errors: { 404: 'The edge keeps no schedules.' },
    },
  },
  '/schedules/{name}': {
    get: {
      tag: 'Schedules',
      id: 'getSchedule',
      summary: 'Get a schedule, with its next time and its history',
      scope: 'schedules',
      answers: { 200: { says: 'The schedule.', json: 'Schedule' } },
      errors: UNKNOWN,
    },
    put: {
      tag: 'Schedules',
      id: 'putSchedule',
      summary: 'Store or replace a schedule',
      description:
        'Exactly one of `cron`, `at` and `everySeconds` is required. Runs are started as the key that stores the schedule, with its scopes or fewer (`scopes`), which must include `chat`.',
      scope: 'schedules',
      body: 'ScheduleBody',
      answers: {
        200: { says: 'The schedule was replaced.', json: 'Schedule' },
        201: { says: 'The schedule was stored.', json: 'Schedule' },
      },
      errors: {
        404: 'There is no such model or conversation, or the edge keeps no schedules.',
        507: 'A quota is used up.',
      },
    },
    patch: {
      tag: 'Schedules',
      id: 'pauseSchedule',
      summary: 'Pause or resume a schedule',
      description: 'Times that pass meanwhile are not missed. To resume it, the key must have all scopes of its runs.',
      scope: 'schedules',
      body: 'ScheduleChange',
      answers: { 200: { says: 'The schedule as it is now.', json: 'Schedule' } },
      errors: UNKNOWN,
    },
    delete: {
      tag: 'Schedules',
      id: 'deleteSchedule',
      summary: 'Remove a schedule',
      description: 'Its runs and their conversations stay.',
      scope: 'schedules',
      answers: { 204: { says: 'The schedule is removed.' } },
      errors: UNKNOWN,
    },
  },
  '/schedules/{name}/run': {
    post: {
      tag: 'Schedules',
      id: 'runSchedule',
      summary: 'Start a run of a schedule now',
      description:
        'In addition to the due runs, and also while the schedule is paused. The key must have all scopes of the run.',
      scope: 'schedules',
      headers: { 'Idempotency-Key': 'Requests with the same key start one run.' },
      answers: { 202: { says: 'The run was started.', json: 'ScheduleEntry' } },
      errors: { ...UNKNOWN, 429: 'Too many requests, or the budget of the key is spent.' },
    },
  },
}
