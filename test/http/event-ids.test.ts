import { expect, test, vi } from 'vitest'
import { ask, say } from '../fixtures/play.ts'
import { dataOf, keptEdge } from './kept-edge.ts'

test('events cannot be resumed from an event that the run never had', async () => {
  const edge = keptEdge({ script: [ask(['nothing']), say('Done.')] })
  await edge.post('/conversations', { id: 'c' })
  const { id } = await (await edge.post('/conversations/c/runs', { input: 'Go' })).json<any>()
  const path = `/conversations/c/runs/${id}/events`
  const last = (await (await edge.fetch(path)).text()).match(/^id: .*\.(\d+)$/gm)?.length ?? 0
  const answers = []
  for (const after of [last, last + 1, `${id}.${last + 1}`, `run_other.${last}`, 'x']) {
    const response = await edge.fetch(`${path}?after=${after}`)
    answers.push([response.status, await response.text()])
  }
  const detail = 'This run has no event with this id.'
  const refusal = [400, JSON.stringify({ status: 400, code: 'bad_event_id', detail })]
  expect(answers).toEqual([[204, ''], refusal, refusal, refusal, refusal])
})

test('a conversation sends the events of a run with its answer to the start, so that nobody asks for them', async () => {
  const edge = keptEdge({ script: [say('One'), say('Two'), say('Three')] })
  await edge.post('/conversations', { id: 'c' })
  const events = vi.spyOn(edge.objects.get('v1/local/c')!, 'events')
  const chat = { messages: [{ role: 'user', content: 'Hi' }] }
  const headers = { 'x-conversation-id': 'c' }
  expect(await (await edge.post('/v1/chat/completions', chat, headers)).text()).toContain('One')
  expect(await (await edge.post('/v1/chat/completions', { ...chat, stream: true }, headers)).text()).toContain('Two')
  const sse = { accept: 'text/event-stream' }
  const types = dataOf(await (await edge.post('/conversations/c/runs', { input: 'Hi' }, sse)).text())
  expect(types.map((event: any) => [event.seq, event.type])).toEqual([
    [1, 'run.started'],
    [2, 'step.started'],
    [3, 'text.delta'],
    [4, 'step.answered'],
    [5, 'step.finished'],
    [6, 'run.finished'],
  ])
  expect(events).not.toHaveBeenCalled()
})
