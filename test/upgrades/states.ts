import type { RunRecord } from '../../src/contract/run.ts'
import { type Installation, REFUSED_PICTURE } from './installation.ts'

/** A state in which a deploy or a rollback can meet a run. */
export interface State {
  readonly name: string
  /** Brings a run of a conversation into this state. Returns its id. */
  make(edge: Installation, conversation: string): Promise<string>
  /** Does what the run waits for, if it waits for anything. */
  proceed?(edge: Installation, conversation: string, run: string): Promise<unknown>
  /** How the run ends. Default: `completed`. */
  readonly end?: RunRecord['status']
  /** What the run answers at its end. Default: how many messages the model has read. */
  readonly answer?: string
}

/** Which calls and answers are held back while states are made; the conversation’s name is before a hyphen. */
export const STOPS = [
  /^model\/slowly$/,
  /^underway-\w+\/(?:note|send)\/call$/,
  /^(?:undoing|cancelling)-\w+\/book\/undo$/,
  /\/survey\/poll$/,
]

const ASK_CUSTOMER = { name: 'askCustomer', description: 'Asks the customer.', inputSchema: { type: 'object' } }
const NOTE_AND_PAY = { type: 'text', text: 'note+pay' }
const PICTURE = { type: 'image', mediaType: 'image/png', data: REFUSED_PICTURE }
/** About 500 tokens. */
const LONG = 'a long word '.repeat(160).replaceAll(' ', '-')

/** The calls that wait for a person, whichever run they are of, and where they are decided. */
async function approve(edge: Installation, conversation: string, run: string): Promise<void> {
  const { calls } = await edge.ask(`/conversations/${conversation}/runs/${run}`)
  const waits = calls.flatMap((call: any) => call.child?.waits ?? (call.status === 'approval' ? [call] : []))
  if (waits.length === 0) throw new Error(`Nothing waits: ${JSON.stringify(calls)}`)
  for (const wait of waits) {
    const path = `/conversations/${wait.conversation ?? conversation}/runs/${wait.run ?? run}/calls/${wait.call ?? wait.id}`
    await edge.ask(path, { decision: 'approve' })
  }
}

/** Sends the result of the call that waits for the caller. */
async function answerCall(edge: Installation, conversation: string, run: string): Promise<void> {
  const { calls } = await edge.ask(`/conversations/${conversation}/runs/${run}`)
  await edge.ask(`/conversations/${conversation}/runs/${run}/calls/${calls[0].id}`, { result: 'Yes.' })
}

/** A run that waits for an approval, of its own or of what it has called. */
function approval(name: string, input: string, body: object, answer: string): State {
  return {
    name,
    make: async (edge, conversation) => {
      const run = await edge.startRun(conversation, input, body)
      await edge.untilStatus(conversation, run, 'waiting')
      for (const deadline = Date.now() + 60_000; ;) {
        const { waitsFor } = await edge.ask(`/conversations/${conversation}/runs/${run}`)
        if (waitsFor === 'approval') return run
        if (Date.now() > deadline) throw new Error(`${name} waits for ${waitsFor}`)
      }
    },
    proceed: approve,
    answer,
  }
}

/** A run that is under way at a point when the edge is killed. */
function underWay(name: string, input: string, points: readonly string[], rest: Pick<State, 'answer' | 'end'>): State {
  return {
    name,
    make: async (edge, conversation) => {
      const run = await edge.startRun(conversation, input, { compensate: true })
      for (const point of points) await edge.until(`${conversation}/${point}`)
      return run
    },
    ...rest,
  }
}

/** A run that is parked as the edge starts again, if its losses are counted meanwhile. */
export const PARKED: State = {
  name: 'parked',
  make: async (edge, conversation) => {
    const run = await edge.startRun(conversation, 'slowly')
    await edge.until('model/slowly')
    return run
  },
  // It may have been tried again by itself, as the deployment is another one.
  proceed: (edge, conversation, run) => edge.ask(`/conversations/${conversation}/runs/${run}/retry`, {}),
}

/** All states but those that take several losses of the edge to make. */
export const STATES: readonly State[] = [
  {
    name: 'finished',
    make: async (edge, conversation) => {
      const run = await edge.startRun(conversation, 'lookUp')
      await edge.untilStatus(conversation, run, 'completed')
      return run
    },
    proceed: async (edge, conversation) => {
      const run = await edge.startRun(conversation, 'hello')
      if ((await edge.untilStatus(conversation, run, 'completed')).answer !== 'Read 5 messages.')
        throw new Error('The next run reads other messages.')
    },
    answer: 'Read 3 messages.',
  },
  {
    name: 'replaced',
    make: async (edge, conversation) => {
      const first = await edge.startRun(conversation, 'note')
      await edge.untilStatus(conversation, first, 'completed')
      const { id: again } = await edge.ask(`/conversations/${conversation}/runs/${first}/regenerate`, {})
      await edge.untilStatus(conversation, again, 'completed')
      return again
    },
    answer: 'Read 3 messages.',
  },
  approval('approval', 'note+pay', {}, 'Read 4 messages.'),
  // The server of the model has refused the picture once; another version may send it again.
  approval('refused', '', { input: [{ role: 'user', content: [NOTE_AND_PAY, PICTURE] }] }, 'Read 4 messages.'),
  approval('agent', 'clerk(pay)', {}, 'Read 3 messages.'),
  approval('agents', 'boss(clerk(pay))', {}, 'Read 3 messages.'),
  approval('program', 'run_code(return[await(tools.pay({}))])', { code: 'also' }, 'Read 3 messages.'),
  {
    name: 'caller',
    make: async (edge, conversation) => {
      const run = await edge.startRun(conversation, 'askCustomer', { clientTools: [ASK_CUSTOMER] })
      await edge.untilStatus(conversation, run, 'waiting')
      return run
    },
    proceed: answerCall,
    answer: 'Read 3 messages.',
  },
  {
    name: 'kind',
    make: async (edge, conversation) => {
      await edge.untilStatus(conversation, await edge.startRun(conversation, 'hello'), 'completed')
      const tools = [{ type: 'custom', name: 'askCustomer' }]
      const { edgecall } = await edge.ask('/v1/responses', { conversation, tools, input: 'askCustomer' })
      return edgecall.runId
    },
    proceed: answerCall,
    answer: 'Read 5 messages.',
  },
  {
    name: 'later',
    make: async (edge, conversation) => {
      const run = await edge.startRun(conversation, 'survey')
      await edge.untilStatus(conversation, run, 'waiting')
      return run
    },
    answer: 'Read 3 messages.',
  },
  {
    name: 'queued',
    make: async (edge, conversation) => {
      await edge.startRun(conversation, 'slowly')
      await edge.until('model/slowly')
      return edge.startRun(conversation, 'note')
    },
    answer: 'Read 5 messages.',
  },
  underWay('underway', 'lookUp+note+send', ['note/call', 'send/call'], { answer: 'Read 5 messages.' }),
  underWay('undoing', 'book confirm', ['book/undo'], { answer: 'Read 5 messages.' }),
  {
    name: 'cancelling',
    make: async (edge, conversation) => {
      const run = await edge.startRun(conversation, 'book confirm', { compensate: true })
      await edge.until(`${conversation}/book/undo`)
      void edge.ask(`/conversations/${conversation}/runs/${run}/cancel`, {}).catch(() => {})
      await edge.untilStatus(conversation, run, 'cancelling')
      return run
    },
    end: 'cancelled',
    answer: '',
  },
  {
    name: 'reduced',
    make: async (edge, conversation) => {
      for (let turn = 0; ; turn++) {
        const run = await edge.startRun(conversation, `note ${LONG}`, { model: 'openai/small' })
        await edge.untilStatus(conversation, run, 'completed')
        if ((await edge.events(conversation, run)).some(({ type }) => type === 'context.reduced')) return run
        if (turn > 20) throw new Error('The prompt is never reduced.')
      }
    },
    proceed: async (edge, conversation) => {
      const run = await edge.startRun(conversation, `note ${LONG}`, { model: 'openai/small' })
      await edge.untilStatus(conversation, run, 'completed')
    },
  },
]
