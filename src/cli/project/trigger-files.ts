import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { type Added, readEdge } from './add.ts'
import { bindTrigger, type TriggerBinding } from './bind.ts'
import { writeFiles } from './files.ts'
import { type Names, namesOf } from './names.ts'

/** What can start a run, besides schedules. */
export const TRIGGER_KINDS = ['webhook', 'queue', 'cron', 'email'] as const
type TriggerKind = (typeof TRIGGER_KINDS)[number]

/**
 * Adds a trigger to a project: a module in `src/triggers`, what it needs in the configuration of the edge, and a note on
 * what else is to be done.
 */
export function addTrigger(root: string, text: string, on: string = 'webhook'): Added {
  const { config } = readEdge(root)
  const kind = TRIGGER_KINDS.find((each) => each === on)
  if (!kind) throw new Failure(`"${on}" starts no runs.`, `Use --on with one of ${TRIGGER_KINDS.join(', ')}.`)
  const names = namesOf(text)
  const file = `src/triggers/${names.kebab}.ts`
  if (existsSync(join(root, file))) throw new Failure(`There is already ${file}.`, 'Choose another name.')
  writeFiles(root, { [file]: moduleOf(kind, names) })
  const use = `In src/index.ts, name it in the parts of the edge: use: [...everything.use, triggers({ ${names.camel} })].`
  const { binding, stanza = '', next } = needsOf(kind, names)
  const isBound = binding === undefined || bindTrigger(root, config, binding)
  const steps = [use, isBound ? '' : `In ${config}, add ${stanza}.`, next].filter((step) => step !== '')
  return { files: isBound && binding ? [file, config] : [file], note: steps.join(' ') }
}

interface Needs {
  /** What the configuration must have, and how that is said. */
  readonly binding?: TriggerBinding
  readonly stanza?: string
  /** What else is to be done. */
  readonly next: string
}

function needsOf(kind: TriggerKind, { camel, kebab }: Names): Needs {
  switch (kind) {
    case 'webhook':
      return {
        next: `The service then sends its requests to /triggers/${camel}, signed with the secret ${secretOf(kebab)}.`,
      }
    case 'queue':
      return {
        binding: { array: 'queues.consumers', item: { queue: kebab } },
        stanza: `[[queues.consumers]] with queue = "${kebab}"`,
        next: `Before the deployment, make the queue: npx wrangler queues create ${kebab}.`,
      }
    case 'cron':
      return {
        binding: { array: 'triggers.crons', item: TIMES },
        stanza: `"${TIMES}" to crons of [triggers]`,
        next: '',
      }
    case 'email':
      return {
        binding: { array: 'send_email', item: { name: 'MAIL' } },
        stanza: '[[send_email]] with name = "MAIL"',
        next: 'After the deployment, route an address to this Worker (Email Routing).',
      }
  }
}

/** The times of a new trigger: each night, in UTC. */
const TIMES = '0 2 * * *'

/** Returns the module of a trigger, which the edge names in `triggers({ … })`. */
function moduleOf(kind: TriggerKind, { camel, kebab, words }: Names): string {
  const as = `  // The id of an API key: npx edgecall keys new ${kebab} --scope chat
  as: '${kebab}',`
  switch (kind) {
    case 'webhook':
      return `import { standardWebhooks, webhookTrigger } from 'edgecall'

/** Starts a run for each signed request about ${words}. Other services have schemes of their own: see docs/webhooks.md. */
export const ${camel} = webhookTrigger({
  scheme: standardWebhooks('${secretOf(kebab)}'),
${as}
  // Return nothing to start no run. What the request says is untrusted: see docs/events.md.
  start: ({ body }) => ({ run: { input: \`Look at this: \${JSON.stringify(body)}\` } }),
})
`
    case 'queue':
      return `import { queueTrigger } from 'edgecall'

/** Starts a run for each message of the queue ${kebab}, which is delivered again unless its run is accepted. */
export const ${camel} = queueTrigger({
  queue: '${kebab}',
${as}
  // Return nothing to start no run.
  start: ({ body }) => ({ run: { input: \`Look at this: \${JSON.stringify(body)}\` } }),
})
`
    case 'email':
      return `import { emailTrigger } from 'edgecall'

/** Starts a run for each mail of these authors, and replies to it. */
export const ${camel} = emailTrigger({
${as}
  from: ['@example.com'],
  reply: { binding: 'MAIL' },
  // Return nothing to start no run. What the mail says is untrusted: see docs/events.md.
  start: ({ subject, content }) => ({
    run: { input: [{ role: 'user', content: [{ type: 'text', text: subject }, ...content] }] },
    answerTo: 'reply',
  }),
})
`
    default:
      return `import { cronTrigger } from 'edgecall'

/** Starts a run at each of these times, in UTC. A schedule needs no deployment: npx edgecall schedules set */
export const ${camel} = cronTrigger({
  cron: '${TIMES}',
${as}
  start: () => ({ run: { input: 'Do what is to be done for ${words}.' } }),
})
`
  }
}

function secretOf(kebab: string): string {
  return `${kebab.replaceAll('-', '_').toUpperCase()}_SECRET`
}
