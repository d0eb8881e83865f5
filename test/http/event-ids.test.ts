import { expect, test } from 'vitest'
import { ask, say } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

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
  const refused = [400, JSON.stringify({ status: 400, code: 'bad_event_id', detail })]
  expect(answers).toEqual([[200, ''], refused, refused, refused, refused])
})
