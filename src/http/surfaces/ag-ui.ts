import { Hono } from 'hono/tiny'
import { AgUiEncoder } from '../../wire/client/ag-ui/events.ts'
import { agUiThread } from '../../wire/client/ag-ui/messages.ts'
import { decodeAgUi } from '../../wire/client/ag-ui/request.ts'
import { requireScope } from '../middleware/auth.ts'
import { readJson } from '../request-body.ts'
import { requestContext, type EdgeEnv } from '../context.ts'
import { takeTurn } from '../runs/continue-run.ts'
import { conversationStub } from '../runs/conversation-stub.ts'
import { newMessages, readTurns } from '../runs/read-turns.ts'
import { pageOfTurns } from './conversations/conversations.ts'
import { invalidRequest } from './runs.ts'
import { streamRun } from '../respond/stream.ts'
import type { SurfacePart } from '../surface.ts'

const app = new Hono<EdgeEnv>()

/** `/ag-ui`: the edge as an agent of the Agent User Interaction Protocol. A thread is a conversation. */
export const agUi: SurfacePart = {
  name: 'agUi',
  surfaces: [
    {
      routes: { '/ag-ui': app },
      formats: {
        'ag-ui': (handle, beginsAtOnce) => {
          const { runId, conversation = runId } = handle
          return streamRun(handle, new AgUiEncoder({ threadId: conversation, runId }), { beginsAtOnce })
        },
      },
    },
  ],
}

app.post('/', async (c) => {
  const { setup, caller } = c.env
  requireScope(caller, 'chat')
  const decoded = decodeAgUi(await readJson(c.req.raw, setup.config.maxBodyBytes))
  if (!decoded.ok) throw invalidRequest(decoded.error)
  const { answers, parameters: run, ...ids } = decoded.request
  const service = conversationStub(c.env, ids.threadId)
  const parameters = run && { ...run, input: await newMessages(service, run.input) }
  const { handle } = await takeTurn(requestContext(c, 'all'), { id: ids.threadId, create: true, answers, parameters })
  return streamRun(handle, new AgUiEncoder(ids))
})

/** Returns the newest messages of a thread, and what its last run waits for. */
app.get('/:id', async (c) => {
  requireScope(c.env.caller, 'chat')
  const threadId = c.req.param('id')
  return c.json(agUiThread(threadId, await readTurns(c.env, threadId, pageOfTurns(c))))
})
