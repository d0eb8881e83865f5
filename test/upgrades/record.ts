import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoredMessage } from '../../src/contract/conversation.ts'
import { isNews } from '../../src/contract/event.ts'
import { packRelease } from './releases.ts'
import { databaseWith, moveTimes, RECORDED, storeRecording } from './databases.ts'
import { makeInstallation } from './installation.ts'

/**
 * Records the databases of this version of the edge, with runs in every state in which a deploy can meet them, and packs the
 * Workers that have written them:
 *
 *     node test/upgrades/record.ts
 *
 * Run it once, right before a version is released; test/fixtures/databases/README.md and test/fixtures/releases/README.md
 * say how and why.
 */
const HOUR = 3_600_000
const STOPS = ['model/slowly', 'tools/note/call', 'tools/send/call', 'undoing/book/undo', 'cancelling/book/undo']

const root = join(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const edge = await makeInstallation({ isHeld: (point) => STOPS.includes(point) })
const runs: Record<string, string> = {}

async function start(name: string, conversation: string, input: string, body: object = {}): Promise<string> {
  return (runs[name] = await edge.startRun(conversation, input, body))
}

async function finish(name: string, conversation: string, input: string, body: object = {}): Promise<void> {
  await edge.untilStatus(conversation, await start(name, conversation, input, body), 'completed')
}

try {
  await edge.start()
  for (const id of [
    'pruned',
    'parked',
    'approval',
    'caller',
    'queue',
    'tools',
    'undoing',
    'cancelling',
    'trunk',
    'deleted',
  ])
    await edge.ask('/conversations', { id })

  // The news of a run is pruned ten minutes after its end.
  await finish('pruned', 'pruned', 'note+lookUp')
  await edge.kill()
  moveTimes(databaseWith(edge.state, runs['pruned'] ?? ''), -HOUR)
  await edge.start()
  while ((await edge.events('pruned', runs['pruned'] ?? '')).some(isNews)) await sleep(100)

  // A run is parked after the loss of three instances that resumed it.
  await start('parked', 'parked', 'slowly')
  await edge.until('model/slowly')
  for (let loss = 0; loss < 4; loss++) {
    await edge.kill()
    await edge.start()
    await edge.ask(`/conversations/parked/runs/${runs['parked']}`)
  }
  await edge.untilStatus('parked', runs['parked'] ?? '', 'parked')

  await edge.ask(
    '/tools/openingHours',
    { description: 'Tells the opening hours.', inputSchema: { type: 'object' }, static: { text: 'From 9 to 5.' } },
    { method: 'PUT' },
  )
  await edge.ask(
    '/tools/openingHours',
    {
      description: 'Tells the opening hours of the shop.',
      inputSchema: { type: 'object' },
      static: { text: 'From 9 to 6.' },
    },
    { method: 'PUT' },
  )

  await finish('first', 'trunk', 'hello')
  await finish('second', 'trunk', 'lookUp')
  const { id: again } = await edge.ask(`/conversations/trunk/runs/${runs['second']}/regenerate`, {})
  runs['again'] = again
  await edge.untilStatus('trunk', again, 'completed')
  const messages: StoredMessage[] = await edge.ask('/conversations/trunk/messages')
  const at = messages.findLast(({ run }) => run === runs['first'])?.position
  const branch = await edge.ask('/conversations/trunk/fork', { id: 'branch', at })
  if (branch.id !== 'branch') throw new Error(JSON.stringify(branch))
  await edge.untilStatus('branch', await start('branch', 'branch', 'pay'), 'waiting')

  await finish('deleted', 'deleted', 'hello')
  await edge.ask('/conversations/deleted', undefined, { method: 'DELETE' })

  await edge.untilStatus('approval', await start('approval', 'approval', 'note+pay'), 'waiting')
  const askCustomer = { name: 'askCustomer', description: 'Asks the customer.', inputSchema: { type: 'object' } }
  await edge.untilStatus(
    'caller',
    await start('caller', 'caller', 'askCustomer', { clientTools: [askCustomer] }),
    'waiting',
  )

  await start('undoing', 'undoing', 'book confirm', { compensate: true })
  await edge.until('undoing/book/undo')
  await start('tools', 'tools', 'lookUp+note+send')
  await start('cancelling', 'cancelling', 'book confirm', { compensate: true })
  await start('under way', 'queue', 'slowly')
  await start('queued', 'queue', 'note')
  for (const point of ['tools/note/call', 'tools/send/call', 'cancelling/book/undo']) await edge.until(point)
  void edge.ask(`/conversations/cancelling/runs/${runs['cancelling']}/cancel`, {}).catch(() => {})
  await edge.untilStatus('cancelling', runs['cancelling'] ?? '', 'cancelling')
  await edge.kill()
  storeRecording(edge.state, join(RECORDED, version), { at: Date.now(), runs })
  const name = execFileSync('git', ['log', '-1', '--format=%cs-%h', '--abbrev=8'], {
    cwd: root,
    encoding: 'utf8',
  }).trim()
  await packRelease(root, name)
  process.stdout.write(`Packed ${name}, and recorded ${version}: ${Object.keys(runs).join(', ')}.\n`)
} finally {
  await edge.close()
}
