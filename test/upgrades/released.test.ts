import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isNews, type RunEvent } from '../../src/contract/event.ts'
import type { StoredMessage } from '../../src/contract/conversation.ts'
import { RECORDED, restoreRecording } from './databases.ts'
import { type Installation, makeInstallation } from './installation.ts'

/** How long before the start of this edge the recorded one was killed. */
const OUTAGE_MS = 60_000

/** The name, the answers and the outcome of each event that is not news, with the time left out. */
function lines(events: readonly RunEvent[]): string[] {
  return events.filter((event) => !isNews(event)).map(line)
}

function line(event: RunEvent): string {
  switch (event.type) {
    case 'step.answered':
      return `step.answered ${event.text}${event.calls.map(({ tool }) => tool).join('+')}`
    case 'step.restarted':
      return `step.restarted ${event.because}`
    case 'call.started':
      return `call.started ${event.tool} ${event.attempt}`
    case 'call.interrupted':
    case 'approval.requested':
    case 'call.requested':
      return `${event.type} ${event.tool}`
    case 'call.settled':
    case 'call.undone':
      return `${event.type} ${event.tool} ${event.ok ? 'ok' : event.error?.code}`
    case 'approval.decided':
      return `approval.decided ${event.decision}`
    case 'run.finished':
      return `run.finished ${event.status} ${event.answer}`.trim()
    default:
      return event.type
  }
}

const call = (tool: string) => [`step.answered ${tool}`, `call.started ${tool} 1`]
const lastStep = (text: string) => [
  'step.started',
  `step.answered ${text}`,
  'step.finished',
  `run.finished completed ${text}`,
]

describe.each(readdirSync(RECORDED, { withFileTypes: true }).filter((entry) => entry.isDirectory()))(
  'of the databases of version $name,',
  ({ name: version }) => {
    let edge: Installation
    let runs: Readonly<Record<string, string>>

    beforeAll(async () => {
      edge = await makeInstallation()
      runs = restoreRecording(join(RECORDED, version), edge.state, Date.now() - OUTAGE_MS).runs
      await edge.start()
    })
    afterAll(() => edge?.close())

    const runOf = (name: string) => runs[name] ?? ''
    const eventsOf = async (name: string, conversation = name) => lines(await edge.events(conversation, runOf(name)))
    const untilEnd = (name: string, conversation = name) =>
      edge.untilStatus(conversation, runOf(name), 'completed', 'failed', 'cancelled')
    const decide = (name: string, callId: string | undefined, json: object) =>
      edge.ask(`/conversations/${name}/runs/${runOf(name)}/calls/${callId}`, json)

    test('a run whose model was answering asks it again, and the run queued behind it follows', async () => {
      await untilEnd('queued', 'queue')
      expect(await eventsOf('under way', 'queue')).toEqual([
        'run.started',
        'step.started',
        'step.restarted interrupted',
        'step.answered Read 1 messages.',
        'step.finished',
        'run.finished completed Read 1 messages.',
      ])
      expect(await eventsOf('queued', 'queue')).toEqual([
        'run.started',
        'step.started',
        ...call('note'),
        'call.settled note ok',
        'step.finished',
        ...lastStep('Read 5 messages.'),
      ])
    })

    test('a run with calls in flight sends only the idempotent one again, with its key', async () => {
      await untilEnd('tools')
      expect(await eventsOf('tools')).toEqual([
        'run.started',
        'step.started',
        'step.answered lookUp+note+send',
        'call.started lookUp 1',
        'call.started note 1',
        'call.started send 1',
        'call.settled lookUp ok',
        'call.interrupted note',
        'call.settled send outcome_unknown',
        'call.started note 2',
        'call.settled note ok',
        'step.finished',
        ...lastStep('Read 5 messages.'),
      ])
      expect(edge.requests.filter((point) => point.startsWith('tools/'))).toEqual(['tools/note/call'])
    })

    test('a run that was undoing a call undoes it, and the model is told', async () => {
      await untilEnd('undoing')
      expect(await eventsOf('undoing')).toEqual([
        'run.started',
        'step.started',
        ...call('book'),
        'call.settled book ok',
        'step.finished',
        'step.started',
        ...call('confirm'),
        'call.settled confirm tool_error',
        'call.undone book ok',
        'step.finished',
        ...lastStep('Read 5 messages.'),
      ])
      expect(edge.requests.filter((point) => point.startsWith('undoing/'))).toEqual(['undoing/book/undo'])
    })

    test('a run that was being cancelled is cancelled', async () => {
      await untilEnd('cancelling')
      expect((await eventsOf('cancelling')).slice(-3)).toEqual([
        'run.cancelling',
        'step.finished',
        'run.finished cancelled',
      ])
      expect(edge.requests.filter((point) => point.startsWith('cancelling/'))).toEqual([])
    })

    test('a call that waited for an approval is sent once it is approved', async () => {
      const waiting = await edge.ask(`/conversations/approval/runs/${runOf('approval')}`)
      expect(waiting).toMatchObject({
        status: 'waiting',
        calls: [
          { tool: 'note', ok: true },
          { tool: 'pay', status: 'approval' },
        ],
      })
      await decide('approval', waiting.calls[1].id, { decision: 'approve' })
      await untilEnd('approval')
      expect(await eventsOf('approval')).toEqual([
        'run.started',
        'step.started',
        'step.answered note+pay',
        'approval.requested pay',
        'call.started note 1',
        'call.settled note ok',
        'run.waiting',
        'approval.decided approve',
        'run.resumed',
        'call.started pay 1',
        'call.settled pay ok',
        'step.finished',
        ...lastStep('Read 4 messages.'),
      ])
    })

    test('a call that waited for its caller takes the result', async () => {
      const { calls } = await edge.ask(`/conversations/caller/runs/${runOf('caller')}`)
      await decide('caller', calls[0].id, { result: 'Yes.' })
      await untilEnd('caller')
      expect(await eventsOf('caller')).toEqual([
        'run.started',
        'step.started',
        'step.answered askCustomer',
        'call.requested askCustomer',
        'run.waiting',
        'call.settled askCustomer ok',
        'run.resumed',
        'step.finished',
        ...lastStep('Read 3 messages.'),
      ])
    })

    test('a branch continues with its part of the history, and a rejected call is not sent', async () => {
      const { calls } = await edge.ask(`/conversations/branch/runs/${runOf('branch')}`)
      await decide('branch', calls[0].id, { decision: 'reject', reason: 'Too dear.' })
      await untilEnd('branch')
      expect(await eventsOf('branch')).toEqual([
        'run.started',
        'step.started',
        'step.answered pay',
        'approval.requested pay',
        'run.waiting',
        'approval.decided reject',
        'run.resumed',
        'call.settled pay rejected',
        'step.finished',
        ...lastStep('Read 5 messages.'),
      ])
    })

    test('a conversation with a replaced turn reads the turn that replaced it', async () => {
      const run = await edge.startRun('trunk', 'hello')
      // Two turns of two and four messages, and the question.
      expect(await edge.untilStatus('trunk', run, 'completed')).toMatchObject({ answer: 'Read 7 messages.' })
    })

    test('a pruned run has its record, all its facts, and its cut result', async () => {
      expect(await eventsOf('pruned')).toEqual([
        'run.started',
        'step.started',
        'step.answered note+lookUp',
        'call.started note 1',
        'call.started lookUp 1',
        'call.settled note ok',
        'call.settled lookUp ok',
        'step.finished',
        'step.started',
        'step.answered Read 4 messages.',
        'step.finished',
        'run.finished completed Read 4 messages.',
      ])
      const run = await edge.startRun('pruned', 'hello')
      expect(await edge.untilStatus('pruned', run, 'completed')).toMatchObject({ answer: 'Read 6 messages.' })
      const messages: StoredMessage[] = await edge.ask('/conversations/pruned/messages')
      const cuts = messages.flatMap(({ message }) => (message.role === 'tool' ? [message.cut] : []))
      expect(cuts).toEqual([undefined, 100_000])
    })

    test('a run that was parked is tried again by itself', async () => {
      await untilEnd('parked')
      expect(await eventsOf('parked')).toEqual([
        'run.started',
        'step.started',
        ...Array(3).fill('step.restarted interrupted'),
        'run.parked',
        'run.retried',
        'step.restarted interrupted',
        'step.answered Read 1 messages.',
        'step.finished',
        'run.finished completed Read 1 messages.',
      ])
    })

    test('a deleted conversation stays deleted, and the others stay listed', async () => {
      expect(await edge.ask('/conversations/deleted/runs')).toEqual({ status: 410, code: 'conversation_deleted' })
      const listing: { id: string }[] = await edge.ask('/conversations')
      expect(listing.map(({ id }) => id)).toEqual([
        'approval',
        'branch',
        'caller',
        'cancelling',
        'parked',
        'pruned',
        'queue',
        'tools',
        'trunk',
        'undoing',
      ])
    })

    test('a stored definition keeps its versions, each of which can be made the current one', async () => {
      const versions = await edge.ask('/tools/openingHours/versions')
      expect(versions).toMatchObject([
        { action: 'put', change: 'compatible' },
        { action: 'put', change: 'created' },
      ])
      for (const [index, text] of [
        [1, 'From 9 to 5.'],
        [0, 'From 9 to 6.'],
      ] as const) {
        await edge.ask('/tools/openingHours/rollback', { hash: versions[index].hash })
        const outcome = await edge.ask('/tools/openingHours/call', { arguments: {} })
        expect(outcome).toMatchObject({ ok: true, content: [{ text }] })
      }
    })
  },
)
