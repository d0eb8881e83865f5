import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readTargets } from '../../../src/cli/check/target.ts'
import { triggerProblems } from '../../../src/cli/check/triggers.ts'

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

/** Returns the problems of a project with this configuration. */
async function problemsOf(config: string): Promise<readonly string[]> {
  const root = mkdtempSync(join(tmpdir(), 'check-triggers-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'src'))
  writeFileSync(join(root, 'src/index.ts'), EDGE)
  writeFileSync(join(root, 'wrangler.toml'), config)
  const { targets } = await readTargets({ root, environment: 'production', prefix: undefined })
  return targets.flatMap((target) => triggerProblems(root, target)).map(({ message, remedy }) => `${message} ${remedy}`)
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
