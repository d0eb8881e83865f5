import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readTargets } from '../../../src/cli/check/target.ts'
import { readSources, sharedSecretProblems, triggerProblems } from '../../../src/cli/check/triggers.ts'

const EDGE = `
// export const { Schedules } = other
import { createEdge, cronTrigger, emailTrigger, queueTrigger, schedules, triggers } from 'edgecall'
const edge = createEdge({
  use: [
    schedules,
    triggers({
      nightly: cronTrigger({ cron: '0 2 * * *', as: 'x', start: () => ({ run: { input: 'http://a.test /* x */' } }) }),
      // old: cronTrigger({ cron: '0 3 * * *', as: 'x', start: () => undefined }),
      orders: queueTrigger({ as: 'x', queue: "orders", start: () => undefined }),
      desk: emailTrigger({ as: 'x', from: 'anyone', reply: { binding: 'MAIL' }, start: () => undefined }),
      any: emailTrigger({ as: 'x', from: 'anyone', start: () => undefined }),
    }),
  ],
})
export const { Conversation, Directory, Schedules } = edge
export default edge
`
const CONFIG = `
name = "desk"
main = "src/index.ts"
compatibility_date = "2026-10-23"
`

/** Makes a project with this configuration, whose edge has this code. */
async function projectOf(config: string, code = EDGE) {
  const root = mkdtempSync(join(tmpdir(), 'check-triggers-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'src'))
  writeFileSync(join(root, 'src/index.ts'), code)
  writeFileSync(join(root, 'wrangler.toml'), config)
  const { targets } = await readTargets({ root, environment: 'production', prefix: undefined })
  return { root, targets }
}

/** Returns the problems of a project with this configuration. */
async function problemsOf(config: string): Promise<readonly string[]> {
  const { root, targets } = await projectOf(config)
  return targets
    .flatMap((target) => triggerProblems(target, readSources(root, target)))
    .map(({ message, remedy }) => `${message} ${remedy}`)
}

test('triggers and schedules whose bindings are missing are found in the code of the edge', async () => {
  expect(await problemsOf(CONFIG)).toEqual([
    'A trigger is for the times "0 2 * * *", at which nothing wakes the edge. Add them to crons of [triggers].',
    'A trigger is for the queue orders, which the edge does not consume. Add [[queues.consumers]] with queue = "orders".',
    'A trigger replies by MAIL, which is not bound. Add [[send_email]] with name = "MAIL".',
    'The edge exports Schedules, and SCHEDULES is not bound: /schedules answers 404. Add [[durable_objects.bindings]] with name = "SCHEDULES" and class_name = "Schedules", and a migration.',
  ])
})

test('nothing is found where all is bound', async () => {
  const config = `${CONFIG}
[triggers]
crons = ["0 2 * * *"]
[[queues.consumers]]
queue = "orders"
[[send_email]]
name = "MAIL"
[[durable_objects.bindings]]
name = "SCHEDULES"
class_name = "Schedules"
`
  expect(await problemsOf(config)).toEqual([])
})

test('webhook triggers that have the same secret are found by the names of their variables, and by the values here', async () => {
  const code = `
export const code = webhookTrigger({ scheme: githubWebhooks('GITHUB'), as: 'x', start })
export const wiki = webhookTrigger({ scheme: githubWebhooks("WIKI"), as: 'x', start })
// export const old = webhookTrigger({ scheme: githubWebhooks('WIKI'), as: 'x', start })
export const money = webhookTrigger({ scheme: stripeWebhooks('STRIPE'), as: 'x', start })
export const talk = webhookTrigger({ scheme: slackWebhooks('SLACK'), as: 'x', start })
export const talk2 = webhookTrigger({ scheme: slackWebhooks('SLACK'), as: 'x', start })
`
  const { root, targets } = await projectOf(CONFIG, code)
  const problems = targets.flatMap((target) =>
    sharedSecretProblems(target, readSources(root, target), { GITHUB: 'old, one', STRIPE: 'one' }),
  )
  const remedy = 'Give each trigger a secret of its own.'
  const message = (names: string) =>
    `Several webhook triggers have the same secret, of ${names}: each accepts what was signed for another.`
  expect(problems).toEqual([
    { file: 'wrangler.toml', message: message('GITHUB and STRIPE'), remedy },
    { file: 'wrangler.toml', message: message('SLACK'), remedy },
  ])
})
