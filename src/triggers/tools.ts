import { ID } from '../contract/id.ts'
import type { Schedule, ScheduleDefinition, ScheduleService, ScheduleSummary } from '../contract/schedule.ts'
import { canonicalJson, type JsonObject, type JsonSchema, sha256 } from '../contract/json.ts'
import type { Setup } from '../contract/setup.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { Caller, Tool, ToolContext, ToolFailure, ToolOutcome, ToolRequest, ToolSource } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'
import { Problem } from '../http/problem.ts'
import { decodeScheduleBody } from '../wire/client/schedule.ts'
import { checkSchedule, checkTerms, SCHEDULES } from './routes.ts'
import { makeTiming } from './times.ts'

interface ScheduleTool {
  readonly declaration: Pick<ToolDefinition, 'name' | 'title' | 'description' | 'annotations' | 'approval'> & {
    readonly inputSchema: JsonSchema & { readonly properties: JsonObject }
  }
  readonly run: (request: ToolRequest, service: ScheduleService, setup: Setup) => Promise<ToolOutcome>
  /** Checks arguments beyond their names, before a person is asked. Throws a Problem. Default: there is nothing to check. */
  readonly check?: (call: ScheduleCall, setup: Setup) => ToolFailure | undefined
}

interface ScheduleCall {
  readonly arguments: JsonObject
  readonly context: Pick<ToolContext, 'caller' | 'conversationId'>
}

/** The most characters of a task. */
const MOST_TASK = 8000

const NAME = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'The name of the schedule.' }

const SET: ScheduleTool = {
  declaration: {
    name: 'setSchedule',
    title: 'Set a schedule',
    description:
      'Makes or replaces a schedule, by which a task is given to you again at later times by itself. Use it when someone asks that something be done every day, every Monday, at a time or every few minutes. Give exactly one of `cron`, `at` and `everySeconds`. Answers the next time.',
    inputSchema: {
      type: 'object',
      properties: {
        name: NAME,
        task: {
          type: 'string',
          minLength: 1,
          maxLength: MOST_TASK,
          description: 'What is to be done each time, complete in itself, such as "Write the report of the day".',
        },
        cron: {
          type: 'string',
          description: 'Five fields: minute, hour, day, month, weekday. "0 8 * * 1-5" is every weekday at 8.',
        },
        timeZone: {
          type: 'string',
          description: 'The IANA time zone of `cron`, that of the person who asks, such as "Europe/Berlin".',
        },
        at: { type: 'string', description: 'One time, with its offset, such as "2026-11-20T09:30:00+01:00".' },
        everySeconds: { type: 'integer', minimum: 60, description: 'The seconds between two times.' },
        here: {
          type: 'boolean',
          description: 'Whether the task is given in this conversation. Default: in a new one each time.',
        },
      },
      required: ['name', 'task'],
      additionalProperties: false,
    },
    annotations: { readOnly: false, idempotent: true, destructive: false, openWorld: false },
    // A schedule acts later and again, with the rights of the caller: a person sees it first.
    approval: 'always',
  },
  check: (call, setup) => {
    const decoded = readSchedule(call)
    if (!decoded.ok) return decoded
    checkTerms({ setup, caller: call.context.caller }, decoded.definition)
    const now = Date.now()
    const timing = makeTiming(decoded.definition, now)
    const isOver = !('path' in timing) && timing.next(now) === undefined
    return isOver ? failure('time_passed', 'This schedule has no due time that is still to come.') : undefined
  },
  run: async (request, service, setup) => {
    const decoded = readSchedule(request)
    if (!decoded.ok) return decoded
    const { caller, marks = [] } = request.context
    await checkSchedule({ setup, caller }, decoded.definition)
    const definition = { ...decoded.definition, ...(marks.length > 0 && { marks }) }
    const reply = await service.put(decoded.name, definition, caller)
    return reply.ok ? answer(summarize(reply.schedule)) : failure(reply.code, reply.message)
  },
}

/** Reads the arguments of `setSchedule` as the body of `PUT /schedules/{name}`, with the bounds of the tool's own schema. */
function readSchedule({
  arguments: { name, task, here = false, ...times },
  context: { conversationId },
}: ScheduleCall): { readonly ok: true; readonly name: string; readonly definition: ScheduleDefinition } | ToolFailure {
  const invalid = (message: string) => failure('invalid_arguments', message)
  if (typeof name !== 'string' || !ID.test(name)) return invalid(`name: must match ${ID.source}.`)
  if (typeof task !== 'string' || task === '' || task.length > MOST_TASK)
    return invalid(`task: must be a text of 1 to ${MOST_TASK} characters.`)
  if (typeof here !== 'boolean') return invalid('here: must be true or false.')
  if (here && conversationId === undefined) return invalid('This run has no conversation. Leave out "here".')
  const decoded = decodeScheduleBody({
    ...times,
    run: { input: task },
    ...(here && { conversation: conversationId }),
  })
  return decoded.ok ? { ok: true, name, definition: decoded.request } : invalid(decoded.error.message)
}

const LIST: ScheduleTool = {
  declaration: {
    name: 'listSchedules',
    title: 'List schedules',
    description: 'Lists the schedules, each with its times, its next time and what the last one came to.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnly: true, idempotent: true, openWorld: false },
  },
  run: async (_, service) => answer({ schedules: (await service.list('', MOST_LISTED)).map(summarize) }),
}

/** The most schedules that a model is told of. */
const MOST_LISTED = 100

const REMOVE: ScheduleTool = {
  declaration: {
    name: 'removeSchedule',
    title: 'Remove a schedule',
    description: 'Removes a schedule, so that it starts nothing any more. Use it when the task is no longer wanted.',
    inputSchema: { type: 'object', properties: { name: NAME }, required: ['name'], additionalProperties: false },
    annotations: { readOnly: false, idempotent: true, destructive: true, openWorld: false },
  },
  run: async ({ arguments: { name }, context }, service) => {
    const reply = await service.remove(String(name), context.caller.scopes)
    if (reply.ok) return answer({ name, removed: true })
    return reply.code === 'unknown_schedule'
      ? failure(reply.code, `There is no schedule "${String(name)}". listSchedules has the names.`)
      : failure(reply.code, reply.message)
  },
}

/**
 * Returns the source of tools with which a model makes, lists and removes schedules of the caller's tenant. They are known
 * and not offered by default, need the scope `schedules`, and are there only if the edge keeps schedules.
 */
export function scheduleToolSource(setup: () => Setup): ToolSource {
  const tools = new Map([SET, LIST, REMOVE].map((tool) => [tool.declaration.name, tool]))
  const find = async (names: readonly string[]) => {
    if (!setup().schedules) return []
    const wanted = [...tools.values()].filter(({ declaration }) => names.includes(declaration.name))
    return Promise.all(wanted.map((tool) => toolOf(tool, setup)))
  }
  return {
    find,
    list: async () => ({ tools: await find([...tools.keys()]), unavailable: [] }),
    offered: async () => [],
  }
}

async function toolOf({ declaration, run, check }: ScheduleTool, setup: () => Setup): Promise<Tool> {
  return {
    definition: { ...declaration, version: '1', hash: await sha256(canonicalJson(declaration)) },
    origin: 'inline',
    place: 'schedules',
    offered: false,
    check: (args, context) => {
      try {
        return refusalOf(args, context) ?? check?.({ arguments: args, context }, setup())
      } catch (error) {
        return problemFailure(error)
      }
    },
    call: async (request) => {
      const { caller } = request.context
      const service = serviceOf(setup(), caller)
      const refusal = refusalOf(request.arguments, request.context)
      if (refusal || !service) return refusal ?? NOT_ALLOWED
      try {
        return await run(request, service, setup())
      } catch (error) {
        return problemFailure(error)
      }
    },
  }

  function refusalOf(args: JsonObject, { caller }: Pick<ToolContext, 'caller'>): ToolFailure | undefined {
    if (!serviceOf(setup(), caller)) return NOT_ALLOWED
    const { properties } = declaration.inputSchema
    const unknown = Object.keys(args).find((key) => !Object.hasOwn(properties, key))
    if (unknown === undefined) return undefined
    return failure('invalid_arguments', `Leave out "${unknown}", which this tool does not take.`)
  }
}

const NOT_ALLOWED = failure('tool_not_allowed', `The key of this run lacks the scope "${SCHEDULES}".`)

/** Returns a Problem as a failure for the model. Throws any other error. */
function problemFailure(error: unknown): ToolFailure {
  if (error instanceof Problem) return failure(error.details.code, error.details.message)
  throw error
}

function serviceOf({ schedules }: Setup, { tenant, scopes }: Caller): ScheduleService | undefined {
  return scopes.includes(SCHEDULES) ? schedules?.getByName(tenant) : undefined
}

/** What a model is told of a schedule. */
function summarize({ name, cron, timeZone, at, everySeconds, next, paused, last }: Schedule | ScheduleSummary): object {
  const lastTime = last && { due: last.due, outcome: last.outcome }
  return { name, cron, timeZone, at, everySeconds, next, ...(paused && { paused }), last: lastTime }
}

function answer(structured: object): ToolOutcome {
  const text = JSON.stringify(structured)
  return { ok: true, content: [{ type: 'text', text }], structured: JSON.parse(text) }
}
