import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { listVar, type Vars } from '../../contract/vars.ts'
import type { CheckProblem } from './problem.ts'
import type { Target } from './target.ts'

/** What a call of a function is given as a text: `cronTrigger({ as: 'x', cron: '0 2 * * *' })`. */
function textsOf(source: string, call: string, member: string): readonly string[] {
  const pattern = new RegExp(
    `\\b${call}\\(\\{(?:(?!\\b\\w+Trigger\\()[^])*?\\b${member}:\\s*(['"\\x60])([^'"\\x60$]+)\\1`,
    'g',
  )
  return [...source.matchAll(pattern)].map(([, , text = '']) => text)
}

/** A comment, or a text, in which there are no comments. */
const COMMENT_OR_TEXT = /\/\*[^]*?\*\/|\/\/[^\n]*|(['"\x60])(?:\\.|(?!\1)[^\\\n])*\1/g

/**
 * Returns which triggers and schedules of an edge would start nothing, because its configuration lacks what they need.
 * They are looked for in the code of the edge (`readSources`), where they are written as texts.
 */
export function triggerProblems({ config, settings }: Target, sources: readonly string[]): readonly CheckProblem[] {
  const { triggers, queues, durable_objects: objects } = settings
  const all = (call: string, member: string) => new Set(sources.flatMap((source) => textsOf(source, call, member)))
  const problem = (message: string, remedy: string): CheckProblem => ({ file: config, message, remedy })
  const consumed = queues.consumers?.map(({ queue }) => queue) ?? []
  const senders = settings.send_email.map(({ name }) => name)
  const keepsSchedules = sources.some((source) => /\bexport\b[^=;]*\bSchedules\b/.test(source))
  const isBound = objects.bindings.some(({ name }) => name === 'SCHEDULES')
  return [
    ...[...all('cronTrigger', 'cron')]
      .filter((cron) => !triggers.crons?.includes(cron))
      .map((cron) =>
        problem(
          `A trigger is for the times "${cron}", at which nothing wakes the edge.`,
          `Add them to crons of [triggers].`,
        ),
      ),
    ...[...all('queueTrigger', 'queue')]
      .filter((queue) => !consumed.includes(queue))
      .map((queue) =>
        problem(
          `A trigger is for the queue ${queue}, which the edge does not consume.`,
          `Add [[queues.consumers]] with queue = "${queue}".`,
        ),
      ),
    ...[...all('emailTrigger', 'binding')]
      .filter((binding) => !senders.includes(binding))
      .map((binding) =>
        problem(`A trigger replies by ${binding}, which is not bound.`, `Add [[send_email]] with name = "${binding}".`),
      ),
    ...(keepsSchedules && !isBound
      ? [
          problem(
            'The edge exports Schedules, and SCHEDULES is not bound: /schedules answers 404.',
            'Add [[durable_objects.bindings]] with name = "SCHEDULES" and class_name = "Schedules", and a migration.',
          ),
        ]
      : []),
  ]
}

/**
 * Returns which webhook triggers of an edge have the same secret, so that each accepts what was signed for another: those
 * that name the same variable, or variables that have the same value here.
 */
export function sharedSecretProblems(
  { config }: Target,
  sources: readonly string[],
  variables: Vars,
): readonly CheckProblem[] {
  const names = sources.flatMap((source) =>
    [...source.matchAll(/\b\w+Webhooks\(\s*(['"`])(\w+)\1/g)].map(([, , name = '']) => name),
  )
  // A variable that has no value here is compared by its name.
  const secrets = names.flatMap((name) => (listVar(variables, name) ?? [name]).map((secret) => ({ name, secret })))
  const sharing = [...Map.groupBy(secrets, ({ secret }) => secret).values()].filter(({ length }) => length > 1)
  const lists = new Set(sharing.map((group) => [...new Set(group.map(({ name }) => name))].join(' and ')))
  return [...lists].map((list) => ({
    file: config,
    message: `Several webhook triggers have the same secret, of ${list}: each accepts what was signed for another.`,
    remedy: 'Give each trigger a secret of its own.',
  }))
}

/** Reads the code of an edge without its comments, a text for each module. */
export function readSources(root: string, { settings: { main } }: Target): readonly string[] {
  if (main === undefined) return []
  const folder = relative(root, dirname(resolve(root, main)))
  const files = globSync('**/*.ts', { cwd: join(root, folder), exclude: ['**/*.test.ts', '**/node_modules/**'] })
  return files.map((file) =>
    readFileSync(join(root, folder, file), 'utf8').replaceAll(COMMENT_OR_TEXT, (match) =>
      match.startsWith('/') ? ' ' : match,
    ),
  )
}
