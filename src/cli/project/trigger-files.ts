import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { type Added, readEdge } from './add.ts'
import { writeFiles } from './files.ts'
import { type Names, namesOf } from './names.ts'

/** What can start a run, besides schedules. */
export const TRIGGER_KINDS = ['webhook', 'queue', 'cron', 'email'] as const
type TriggerKind = (typeof TRIGGER_KINDS)[number]

/** Adds a trigger to a project: a module in `src/triggers`, and what else is to be done for it. */
export function addTrigger(root: string, text: string, on: string = 'webhook'): Added {
  readEdge(root)
  const kind = TRIGGER_KINDS.find((each) => each === on)
  if (!kind) throw new Failure(`"${on}" starts no runs.`, `Use --on with one of ${TRIGGER_KINDS.join(', ')}.`)
  const names = namesOf(text)
  const file = `src/triggers/${names.kebab}.ts`
  if (existsSync(join(root, file))) throw new Failure(`There is already ${file}.`, 'Choose another name.')
  writeFiles(root, { [file]: moduleOf(kind, names) })
  const use = `In src/index.ts, name it in the parts of the edge: use: [...everything.use, triggers({ ${names.camel} })].`
  return { files: [file], note: `${use} ${STEPS[kind](names)}` }
}

const STEPS: Readonly<Record<TriggerKind, (names: Names) => string>> = {
  webhook: ({ camel, kebab }) =>
    `The service then sends its requests to /triggers/${camel}, signed with the secret ${secretOf(kebab)}.`,
  queue: ({ kebab }) => `In wrangler.toml, add [[queues.consumers]] with queue = "${kebab}".`,
  cron: () => 'In wrangler.toml, add [triggers] with crons = ["0 2 * * *"].',
  email: () =>
    'In wrangler.toml, add [[send_email]] with name = "MAIL" for replies. After the deployment, route an address to this Worker (Email Routing).',
}

/** Returns the module of a trigger, which the edge names in `triggers({ … })`. */
function moduleOf(kind: TriggerKind, { camel, kebab, words }: Names): string {
  const as = `  // The id of an API key: npx edgecall keys new ${kebab} --scope chat
  as: '${kebab}',`
  switch (kind) {
    case 'webhook':
      return `import { standardWebhooks, webhookTrigger } from 'edgecall'

/** Starts a run for each signed request about ${words}. GitHub, Stripe and Slack have schemes of their own. */
export const ${camel} = webhookTrigger({
  scheme: standardWebhooks('${secretOf(kebab)}'),
${as}
  // Return nothing to start no run. What the request says is data from outside.
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
  // Return nothing to start no run. What the mail says is data from outside.
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
  cron: '0 2 * * *',
${as}
  start: () => ({ run: { input: 'Do what is to be done for ${words}.' } }),
})
`
  }
}

function secretOf(kebab: string): string {
  return `${kebab.replaceAll('-', '_').toUpperCase()}_SECRET`
}
