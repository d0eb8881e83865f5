import { keyOfCaller } from '../contract/caller-terms.ts'
import { SCOPES } from '../contract/api-key.ts'
import type { PendingApproval } from '../contract/conversation.ts'
import { isObject } from '../contract/json.ts'
import { hiddenConversation } from '../contract/placement.ts'
import { RecentMap } from '../contract/recent-map.ts'
import type { ReportedRun, RunReporter } from '../contract/report.ts'
import type { Setup } from '../contract/setup.ts'
import { readToken, SIGNATURE_LENGTH, signToken } from '../contract/signer.ts'
import type { Caller } from '../contract/tool.ts'
import { textVar } from '../contract/vars.ts'
import { requireScope } from '../http/middleware/auth.ts'
import { Problem, unwrapReply } from '../http/problem.ts'
import { signAnswer } from '../http/runs/continue-run.ts'
import { conversationStub } from '../http/runs/conversation-stub.ts'
import type { SignedRequest } from '../triggers/verify.ts'

type ApproverEnv = Readonly<Record<string, unknown>>

/** A call that waits for a person, as people are asked about it. */
export interface AskedCall {
  readonly approval: PendingApproval
  /** The right to decide about this call with these arguments, for a person that `receive` has recognised. */
  readonly token: string
  /** Those who may decide, and the address of the page on which each does: it is the right to decide as that person. */
  readonly people: readonly { readonly id: string; readonly key: string; readonly link: string | undefined }[]
  /** The name of the edge for people: the host of `EDGE_URL`. */
  readonly edge: string
}

/** A decision that a service has brought. */
export interface BroughtDecision {
  /** What identifies the person at the service, as in `people`. */
  readonly person: string
  readonly token: string
  readonly decision: 'approve' | 'reject'
  /** Tells people what became of it. */
  readonly tell: (verdict: Verdict) => Promise<void>
}

/** What became of a decision. `isOver`: the call does not wait any more, and nothing says that somebody has decided. */
export type Verdict =
  | { readonly ok: true; readonly decision: 'approve' | 'reject' }
  | { readonly ok: false; readonly isOver: boolean; readonly message: string }

/** People who decide about calls, and how they are asked: `slackApprovers`, `mailApprovers`. */
export interface Approvers {
  /** The id of the API key of each, by what identifies the person where they are asked. */
  readonly people: Readonly<Record<string, string>>
  /** Whether they are sent links to this edge, which then must know its address (`EDGE_URL`). */
  readonly sendsLinks: boolean
  /** Asks them; with `sendsLinks`, one at a time. Rejects if that may succeed later. */
  readonly ask: (call: AskedCall, env: ApproverEnv) => Promise<void>
  /**
   * Reads a request to `POST /approvers/{group}`: a decision, or what to answer instead. Undefined for one that the service has
   * not signed. Default: there are none.
   */
  readonly receive?: (request: SignedRequest, env: ApproverEnv) => Promise<BroughtDecision | Response | undefined>
}

/** Groups of approvers by their names, which policies name (`approvers` in `TOOL_POLICY`). */
export type ApproverGroups = Readonly<Record<string, Approvers>>

/** What a token is the right to decide about. */
export interface ApprovalRight {
  readonly tenant: string
  readonly conversation: string
  readonly run: string
  readonly call: string
  /** The hash of the arguments that people are shown. */
  readonly arguments: string
  readonly group: string
  /** The id of the API key of the person whose link it is; empty if a service says who has decided. */
  readonly key: string
  /** Epoch milliseconds. */
  readonly expires: number
}

/** The most characters of a token. */
const MOST_TOKEN = 4000 + SIGNATURE_LENGTH

async function signRight({ approvalSigner: signer }: Setup, right: ApprovalRight): Promise<string> {
  if (!signer) throw new Error('This edge signs no approvals.')
  return signToken(signer, right)
}

/** Reads a token. Throws a Problem for one that this edge has not signed for this group, or that has expired. */
export async function readRight(
  { approvalSigner: signer }: Setup,
  group: string,
  token: string,
): Promise<ApprovalRight> {
  const right = signer && token.length <= MOST_TOKEN ? await readToken(signer, token) : undefined
  if (!isRight(right) || right.group !== group) {
    throw new Problem({ status: 404, code: 'unknown_call', message: 'This link names no call.' })
  }
  if (right.expires > Date.now()) return right
  throw new Problem({ status: 410, code: 'approval_expired', message: 'This link has expired.' })
}

/** What is signed holds what it was signed with: this is for the compiler. */
function isRight(value: unknown): value is ApprovalRight {
  return isObject(value) && typeof value['expires'] === 'number' && typeof value['call'] === 'string'
}

/** The caller that a person is: the API key with this id, as it is now. Undefined if it may decide nothing in this tenant. */
async function findPerson(setup: Setup, tenant: string, key: string): Promise<Caller | undefined> {
  if (setup.config.auth === 'open') return { tenant, key, scopes: SCOPES }
  const apiKey = await keyOfCaller(setup, { tenant, key, scopes: [] })
  if (!apiKey || apiKey.expires <= Date.now() || ('disabled' in apiKey && apiKey.disabled)) return undefined
  if (!apiKey.scopes.includes('approve') || (await setup.keyStates?.isDisabled(key))) return undefined
  return { tenant, key, scopes: apiKey.scopes }
}

/** Returns a person who may decide. Throws a Problem for anybody else. */
export async function requirePerson(setup: Setup, { tenant }: ApprovalRight, key: string): Promise<Caller> {
  const person = key === '' ? undefined : await findPerson(setup, tenant, key)
  if (!person)
    throw new Problem({ status: 403, code: 'not_an_approver', message: 'You may not decide about this call.' })
  requireScope(person, 'approve')
  return person
}

/** Returns the call of a right, if it still waits as it was shown. Throws a Problem if it does not. */
export async function findAsked(setup: Setup, right: ApprovalRight, person: Caller): Promise<PendingApproval> {
  const service = conversationStub({ setup, caller: person }, right.conversation)
  const { approval } = unwrapReply(await service.approval(right.run, right.call))
  if (approval.argumentsHash === right.arguments && !approval.input) return approval
  throw new Problem({
    status: 409,
    code: 'arguments_changed',
    message: 'The call is not the one that you were asked about.',
  })
}

/** Decides about the call of a right as a person. Throws a Problem if the decision does not count. */
export async function decideAs(
  setup: Setup,
  right: ApprovalRight,
  person: Caller,
  answer: { readonly decision: 'approve' | 'reject'; readonly reason?: string },
): Promise<void> {
  const service = conversationStub({ setup, caller: person }, right.conversation)
  const decision = signAnswer(person, { ...answer, seenHash: right.arguments })
  unwrapReply(await service.answer(right.run, { [right.call]: decision }))
}

/** How often people are asked about a call before it is given up: over about eight hours. */
const MOST_ATTEMPTS = 18
/** How many calls an isolate remembers to have sent, if others of the same run could not be. */
const MOST_REMEMBERED = 1000

/** A run that has begun to wait, and the calls that it waits for since then. */
type WaitingRun = Pick<ReportedRun['request'], 'runId' | 'conversation' | 'caller'> & {
  readonly calls: readonly string[]
}

/**
 * Asks people about calls when a run begins to wait for them. The conversation of the run has it done again later until it
 * succeeds, so people may be asked twice; the first decision counts.
 */
export function approvalReporter(groups: ApproverGroups, setup: () => Setup): RunReporter {
  const askedBefore = new RecentMap<string, true>({ most: MOST_REMEMBERED })
  return {
    name: 'approvers',
    attempts: MOST_ATTEMPTS,
    reportsWaits: true,
    openBatch: () => {
      const runs: WaitingRun[] = []
      return {
        add: ({ request: { runId, conversation, caller }, facts }) => {
          const calls = newlyAsked(facts)
          if (calls.length > 0) runs.push({ runId, conversation, caller, calls })
        },
        send: async () => {
          for (const run of runs) await askAbout(setup(), groups, run, askedBefore)
        },
      }
    },
  }
}

/** Returns the calls for which a run has asked since it waited before; none if it does not wait. */
function newlyAsked(facts: ReportedRun['facts']): readonly string[] {
  const types = facts.map(({ event }) => event.type)
  const last = types.lastIndexOf('run.waiting')
  if (last === -1 || last !== types.length - 1) return []
  const since = facts.slice(types.lastIndexOf('run.waiting', last - 1) + 1)
  // What a tool asks for needs more than a yes.
  return since.flatMap(({ event }) => (event.type === 'approval.requested' && !event.input ? event.callId : []))
}

async function askAbout(
  setup: Setup,
  groups: ApproverGroups,
  { runId, conversation, caller, calls }: WaitingRun,
  askedBefore: RecentMap<string, true>,
): Promise<void> {
  const id = conversation ?? hiddenConversation(setup, caller, runId)
  const faults: unknown[] = []
  for (const call of calls) {
    const reply = await conversationStub({ setup, caller }, id).approval(runId, call)
    // It was decided about meanwhile, or its conversation deleted.
    if (!reply.ok) continue
    for (const group of await groupsFor(setup, caller, reply.approval.tool)) {
      const approvers = Object.hasOwn(groups, group) ? groups[group] : undefined
      if (!approvers) continue
      const request = { approval: reply.approval, group, tenant: caller.tenant, conversation: id }
      for (const each of await callsFor(setup, approvers, request)) {
        const name = JSON.stringify([runId, call, group, approvers.sendsLinks && each.people[0]?.id])
        if (askedBefore.get(name)) continue
        try {
          await approvers.ask(each, setup.triggerEnv ?? {})
          askedBefore.set(name, true)
        } catch (error) {
          faults.push(error)
        }
      }
    }
  }
  if (faults.length > 0) throw faults[0]
}

/** Returns the names of the groups that the policies of a tool name, each once. */
async function groupsFor(setup: Setup, caller: Caller, name: string): Promise<ReadonlySet<string>> {
  const [tool = { place: '', definition: { name } }] = await setup.tools(caller).find([name])
  return new Set(setup.policies?.(tool).flatMap(({ policy }) => policy.approvers ?? []))
}

interface GroupRequest {
  readonly approval: PendingApproval
  readonly group: string
  readonly tenant: string
  readonly conversation: string
}

/**
 * Returns what a group is asked, if any of its people may decide in the tenant of the run: others do not learn of it. Those
 * who are sent links are asked one by one: an address that takes no mail keeps it from nobody else.
 */
async function callsFor(
  setup: Setup,
  approvers: Approvers,
  { approval, group, tenant, conversation }: GroupRequest,
): Promise<AskedCall[]> {
  const { run, id: call, argumentsHash, expires } = approval
  const address = addressOf(setup.triggerEnv ?? {})
  const right = { tenant, conversation, run, call, arguments: argumentsHash, group, key: '', expires }
  const people: { id: string; key: string; link: string | undefined }[] = []
  for (const [id, key] of Object.entries(approvers.people)) {
    const isAsker = setup.config.fourEyes && key === (approval.caller.key ?? tenant)
    if (isAsker || !(await findPerson(setup, tenant, key))) continue
    const link = `${address}/approvers/${encodeURIComponent(group)}/${await signRight(setup, { ...right, key })}`
    people.push({ id, key, link: approvers.sendsLinks ? link : undefined })
  }
  if (people.length === 0) {
    const detail = 'None of its people has a key of this tenant with the scope "approve", or may decide about this run.'
    setup.report({ event: 'approval.not_sent', runId: run, callId: call, group, tenant, detail })
    return []
  }
  const ask = { approval, token: await signRight(setup, right), edge: URL.parse(address)?.host ?? 'the edge' }
  return approvers.sendsLinks ? people.map((each) => ({ ...ask, people: [each] })) : [{ ...ask, people }]
}

/** Returns the address of the edge, without a slash at its end. */
function addressOf(env: ApproverEnv): string {
  return (textVar(env, 'EDGE_URL') ?? '').replace(/\/+$/, '')
}
