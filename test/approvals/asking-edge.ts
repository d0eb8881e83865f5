import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { HoldingPolicy } from '../../src/contract/policy.ts'
import { approvalReporter, type ApproverGroups } from '../../src/approvals/approvers.ts'
import { approverRoutes } from '../../src/approvals/routes.ts'
import { slackApprovers, type SlackApproversOptions } from '../../src/approvals/slack.ts'
import { edge as edgeWorker } from '../../src/http/app/edge.ts'
import { makeSigner } from '../../src/http/runs/signer.ts'
import { fullSurfaces } from '../fixtures/everything.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { settle } from '../fixtures/settle.ts'
import { keptEdge } from '../http/kept-edge.ts'

export const EDGE = 'https://edge.example.com'
export const SIGNING_SECRET = 'the signing secret of the app'
/** Signs as an edge with this `OUTCOME_SECRET` does. */
export const signer = makeSigner(['a secret of the deployment'], 'approval')

/** Keys: of the program that starts runs, of people who may decide, and of some who may not. */
export const KEYS = [
  apiKey('program', { id: 'program', scopes: ['chat', 'approve'] }),
  apiKey('ann', { id: 'ann', scopes: ['approve'] }),
  apiKey('bo', { id: 'bo', scopes: ['approve'] }),
  apiKey('reader', { id: 'reader', scopes: ['chat'] }),
  apiKey('expired', { id: 'expired', scopes: ['approve'], expires: '2020-01-01' }),
  apiKey('stranger', { id: 'stranger', tenant: 'other', scopes: ['approve'] }),
]

/** What an API call of a stand-in for Slack was, and what it is answered. */
export interface SlackCall {
  readonly method: string
  readonly authorization: string | undefined
  readonly body: any
}

/** A server with the methods of Slack's API. `answers` are given in their order; then each call succeeds. */
export async function slackServer(answers: object[] = []) {
  const calls: SlackCall[] = []
  const server = createServer((request, response) => {
    void bodyOf(request).then((text) => {
      calls.push({
        method: (request.url ?? '').slice('/api/'.length),
        authorization: request.headers.authorization,
        body: JSON.parse(text),
      })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answers.shift() ?? { ok: true, ts: '1.2' }))
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { api: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`, calls }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

export const PEOPLE = { U1: 'ann', U2: 'bo', U3: 'reader', U4: 'expired', U5: 'stranger', U6: 'program', U7: 'nobody' }

export function slackGroup(api: string, options: Partial<SlackApproversOptions> = {}) {
  const variables = { token: 'SLACK_TOKEN', signingSecret: 'SLACK_SIGNING_SECRET' }
  return slackApprovers({ ...variables, channel: 'C1', team: 'T1', people: PEOPLE, api, ...options })
}

interface AskingOptions {
  readonly vars?: Record<string, string>
  readonly env?: Record<string, unknown>
  /** The groups that the policy of a tool names. Default: `finance`, for `pay` alone. */
  readonly policies?: (tool: string) => readonly string[]
  readonly script?: Parameters<typeof keptEdge>[0]['script']
  readonly disabled?: readonly string[]
  /** What the tool does. Default: it notes its arguments. */
  readonly pay?: (args: Record<string, unknown>, context: any) => unknown
}

/** An edge with approvers in plain Node, whose tool `pay` needs an approval. */
export function askingEdge(groups: ApproverGroups, options: AskingOptions = {}) {
  const { vars = {}, env = {}, disabled = [] } = options
  const { policies = (name) => (name === 'pay' ? ['finance'] : []) } = options
  const { script = [ask(['pay', { to: 'Eve', cents: 100 }]), say('Paid.'), say('More.')] } = options
  const paid: unknown[] = []
  const reports: any[] = []
  const { pay: run = (args) => (paid.push(args), 'paid') } = options
  const pay = tool('pay', run, { approval: 'always', title: 'Pay <b>', description: 'Pays somebody & tells them.' })
  const refund = tool('refund', () => 'refunded', { approval: 'always' })
  const own: ReturnType<typeof keptEdge> = keptEdge({
    script,
    tools: [pay, refund],
    vars: { ...withKeys(...KEYS), ...vars },
    setup: {
      approvalSigner: signer,
      triggerEnv: { SLACK_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: SIGNING_SECRET, EDGE_URL: `${EDGE}/`, ...env },
      reporters: [approvalReporter(groups, () => own.setup)],
      report: (entry) => void reports.push(entry),
      keyStates: { isDisabled: async (id) => disabled.includes(id), used: async () => {} },
      policies: ({ definition }): HoldingPolicy[] => [
        { pattern: definition.name, policy: { approvers: policies(definition.name) } },
      ],
    },
  })
  const app = edgeWorker(() => own.setup, [...fullSurfaces, approverRoutes(groups)])
  const works: Promise<unknown>[] = []
  const send = async (path: string, init?: RequestInit) => {
    const request = new Request(new URL(path, EDGE), init)
    const answer = await app.fetch(request, {}, { waitUntil: (work) => void works.push(work) })
    await Promise.all(works.splice(0))
    await settle()
    return answer
  }
  return {
    own,
    send,
    paid,
    reports,
    /** Starts a run in the conversation `c` and lets people be asked. */
    start: async (key = 'program') => {
      await own.post('/conversations', { id: 'c' }, bearer(key))
      const json: any = await (await own.post('/conversations/c/runs', { input: 'Pay Eve' }, bearer(key))).json()
      await own.settle()
      return { run: String(json.id), calls: json.calls.map(({ id }: { id: string }) => id) as string[] }
    },
    record: async (run: string): Promise<any> => {
      await own.settle()
      return (await own.fetch(`/conversations/c/runs/${run}`, { headers: bearer('program') })).json()
    },
    decisions: async (run: string): Promise<object[]> => {
      const text = await (await own.fetch(`/conversations/c/runs/${run}/events`, { headers: bearer('program') })).text()
      const events = text.split('\n').filter((line) => line.startsWith('data: {'))
      return events.map((line) => JSON.parse(line.slice(6))).filter(({ type }) => type === 'approval.decided')
    },
    /** Sends the click of a person on a button of a message, as Slack does. */
    click: (message: SlackCall, action: 'approve' | 'reject', from: ClickOptions = {}) => {
      const body = clickBody(message, action, from)
      const time = String(Math.floor((Date.now() + (from.ageMs ?? 0)) / 1000))
      const signature = createHmac('sha256', from.secret ?? SIGNING_SECRET)
        .update(`v0:${time}:${body}`)
        .digest('hex')
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': time,
        'x-slack-signature': `v0=${signature}`,
      }
      return send(`/approvers/${from.group ?? 'finance'}`, { method: 'POST', body, headers })
    },
  }
}

interface ClickOptions {
  readonly user?: string
  readonly team?: string
  readonly token?: string
  readonly secret?: string
  readonly ageMs?: number
  readonly group?: string
}

/** The buttons of a message, by their names. */
export const buttonsOf = ({ body }: SlackCall): Record<string, string> =>
  Object.fromEntries(
    body.blocks
      .filter(({ type }: any) => type === 'actions')
      .flatMap(({ elements }: any) =>
        elements.map(({ action_id, value }: any) => [action_id.slice('edgecall.'.length), value]),
      ),
  )

function clickBody(
  message: SlackCall,
  action: 'approve' | 'reject',
  { user = 'U1', team = 'T1', token }: ClickOptions,
) {
  const payload = {
    type: 'block_actions',
    team: { id: 'T1', domain: 'acme' },
    user: { id: user, team_id: team },
    channel: { id: 'C1' },
    message: { ts: '1.2', blocks: message.body.blocks },
    actions: [{ type: 'button', action_id: `edgecall.${action}`, value: token ?? buttonsOf(message)['approve'] }],
  }
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
}
