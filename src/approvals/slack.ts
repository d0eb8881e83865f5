import { readBody } from '../contract/bytes.ts'
import { isObject, parseJson } from '../contract/json.ts'
import { withTimeLimit } from '../contract/time-limit.ts'
import { listVar, textVar } from '../contract/vars.ts'
import { slackWebhooks } from '../triggers/services.ts'
import { readBodyContent } from '../triggers/verify.ts'
import type { Approvers, AskedCall, Verdict } from './approvers.ts'
import { readableText, reasonFor } from './page.ts'

export interface SlackApproversOptions {
  /** The variable with the bot token of the app (`xoxb-…`), which has the scope `chat:write`. */
  readonly token: string
  /** The variable with the signing secret of the app, or a list of which any counts. */
  readonly signingSecret: string
  /** The id of the channel where people are asked, of which the app is a member. */
  readonly channel: string
  /** The id of the workspace of these people (`T…`). Others, as in a shared channel, decide nothing. */
  readonly team: string
  /** The id of the API key as which each person decides, by the id of the member (`U…`). */
  readonly people: Readonly<Record<string, string>>
  /** The address of Slack's methods. Default: `https://slack.com/api`. */
  readonly api?: string
}

/**
 * Asks people in a channel of Slack, by a message with buttons. Set the request URL of the app (Interactivity) to
 * `/approvers/{group}` of this edge.
 *
 * @example
 * approvers({
 *   finance: slackApprovers({
 *     token: 'SLACK_TOKEN',
 *     signingSecret: 'SLACK_SIGNING_SECRET',
 *     channel: 'C0123456789',
 *     team: 'T0123456789',
 *     people: { U0123456789: 'ann' },
 *   }),
 * })
 */
export function slackApprovers(options: SlackApproversOptions): Approvers {
  const { token, signingSecret, channel, team, people } = options
  const scheme = slackWebhooks(signingSecret)
  return {
    people,
    sendsLinks: false,
    ask: async (call, env) => {
      await post('chat.postMessage', { channel, ...messageOf(call) }, { ...options, token: textVar(env, token) })
    },
    receive: async (request, env) => {
      const verdict = await scheme.verify(request, listVar(env, signingSecret) ?? [], env)
      if (typeof verdict !== 'string') return verdict
      const click = readClick(await readBodyContent(request))
      // Another button of the same app.
      if (!click) return new Response()
      const { team: from, person, value, decision, place } = click
      const port = { ...options, token: textVar(env, token) }
      return {
        ...{ person: from === team ? person : '', token: value, decision },
        tell: (result) => tell(result, { place, person }, port),
      }
    },
  }
}

const ACTIONS = { 'edgecall.approve': 'approve', 'edgecall.reject': 'reject' } as const

/** The most characters of a text block, and of such blocks in a message: the limits of Slack are 3,000 and 50. */
const MOST_TEXT = 1400
const MOST_BLOCKS = 20

type Block = Readonly<Record<string, unknown>>

/** Returns the message about a call. None of its texts is read as markup: the arguments are the model's. */
function messageOf({ approval, token, edge }: AskedCall): { readonly text: string; readonly blocks: readonly Block[] } {
  const { tool, arguments: args, caller, expires } = approval
  const title = `${tool} waits for your approval`
  const lines = [
    `Asked for by ${caller.key ?? caller.tenant} at ${edge}`,
    reasonFor(approval),
    `Until ${new Date(expires).toUTCString()}`,
  ]
  const pieces = readableText(args).match(new RegExp(`[^]{1,${MOST_TEXT}}`, 'gu')) ?? []
  const isWhole = pieces.length <= MOST_BLOCKS
  const texts = isWhole
    ? pieces
    : ['Its arguments are too long to be shown here. Decide about it in the studio, or reject it.']
  const button = (action: string, label: string, style: string) => {
    return { type: 'button', action_id: action, text: plain(label), style, value: token }
  }
  return {
    text: title,
    blocks: [
      section(title),
      ...texts.map(section),
      { type: 'context', elements: lines.flatMap((line) => (line === undefined ? [] : plain(line))) },
      {
        type: 'actions',
        elements: [
          // Nobody approves what they cannot see.
          ...(isWhole ? [button('edgecall.approve', 'Approve', 'primary')] : []),
          button('edgecall.reject', 'Reject', 'danger'),
        ],
      },
    ],
  }
}

function plain(text: string): Block {
  return { type: 'plain_text', text, emoji: false }
}

function section(text: string): Block {
  return { type: 'section', text: plain(text) }
}

interface Place {
  readonly channel: string
  readonly message: string
  readonly blocks: readonly Block[]
}

interface Click {
  /** The workspace of the person. */
  readonly team: string
  readonly person: string
  readonly value: string
  readonly decision: 'approve' | 'reject'
  readonly place: Place
}

/** Reads a click on one of the buttons (`block_actions`); undefined for anything else. */
function readClick(payload: unknown): Click | undefined {
  const { type, actions, user, team, channel, message } = objectOf(payload)
  const { action_id: action, value } = objectOf(Array.isArray(actions) ? actions[0] : undefined)
  const decision = Object.entries(ACTIONS).find(([id]) => id === action)?.[1]
  if (type !== 'block_actions' || !decision) return undefined
  const { blocks } = objectOf(message)
  return {
    team: textOf(objectOf(user)['team_id']) || textOf(objectOf(team)['id']),
    person: textOf(objectOf(user)['id']),
    value: textOf(value),
    decision,
    place: {
      channel: textOf(objectOf(channel)['id']),
      message: textOf(objectOf(message)['ts']),
      blocks: Array.isArray(blocks) ? blocks.filter(isObject) : [],
    },
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Says in the message what became of the call, without its buttons; or, to the person alone, why nothing was decided. */
async function tell(
  verdict: Verdict,
  { place: { channel, message, blocks }, person }: { readonly place: Place; readonly person: string },
  port: SlackPort,
): Promise<void> {
  if (!verdict.ok && !verdict.isOver) {
    await post('chat.postEphemeral', { channel, user: person, text: escapeText(verdict.message) }, port)
    return
  }
  const text = verdict.ok
    ? `${verdict.decision === 'approve' ? 'Approved' : 'Rejected'} by <@${person}>`
    : `Nothing was decided here: ${escapeText(verdict.message)}`
  const others = blocks.filter(({ type }) => type !== 'actions')
  const outcome = { type: 'context', elements: [{ type: 'mrkdwn', text }] }
  await post('chat.update', { channel, ts: message, text, blocks: [...others, outcome] }, port)
}

/** Escapes what Slack reads as markup in a text. */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

interface SlackPort {
  readonly api?: string
  readonly token: string | undefined
}

/** The time limit of a request to Slack, in milliseconds, and the most bytes of an answer that are read. */
const MOST_MS = 10_000
const MOST_ANSWER = 64 * 1024

/** Calls a method of Slack. Rejects unless Slack says that it has done it. */
async function post(method: string, body: object, { api = 'https://slack.com/api', token }: SlackPort): Promise<void> {
  await withTimeLimit(MOST_MS, async (signal) => {
    const response = await fetch(`${api}/${method}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { authorization: `Bearer ${token ?? ''}`, 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(body),
      signal,
    })
    const { bytes } = await readBody(response, MOST_ANSWER)
    const { ok, error } = objectOf(parseJson(new TextDecoder().decode(bytes)))
    if (ok !== true) throw new Error(`Slack answered ${response.status} to ${method}: ${textOf(error) || 'no reason'}`)
  })
}
