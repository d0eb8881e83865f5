import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Env, type EdgeOptions, makeSetup, toolPolicies } from 'edgecall'
import { agentSource, serveAgents } from 'edgecall/agent'
import { ask, say } from '../fixtures/play.ts'
import { type Script, type ScriptedModel, scripted } from '../fixtures/scripted.ts'
import { type ControlledEdge, controlledEdge } from './controlled-edge.ts'

const KEY = 'acme: chat tools:read approve'

/** The agent `clerk`, which may ask the agent `lawyer`. */
const AGENTS = [
  { name: 'clerk', description: 'Answers.', instructions: 'I am the clerk.', tools: ['lawyer'] },
  { name: 'lawyer', description: 'Answers questions of law.', instructions: 'I am the lawyer.' },
]

/** Where the agents are: sources of the edge, or a Worker of their own, under the policies of either. */
const PLACES: Readonly<Record<string, (model: ScriptedModel, policy: object) => ControlledEdge>> = {
  'of the edge': (model, policy) => edgeWith(model, { TOOL_POLICY: policy }, ofEdge),
  'of the edge, which offers the first alone': (model, policy) =>
    edgeWith(model, { TOOL_POLICY: policy, DEFAULT_TOOLS: 'clerk' }, ofEdge),
  'of a Worker, by the policies of the edge': (model, policy) =>
    edgeWith(model, { TOOL_POLICY: policy, TOOL_EXPERTS: workerOfAgents(model, {}) }),
  'of a Worker, by its own policies': (model, policy) =>
    edgeWith(model, { TOOL_EXPERTS: workerOfAgents(model, { TOOL_POLICY: policy }) }),
}

const ofEdge: EdgeOptions['sources'] = (setup) => [agentSource(AGENTS, setup)]

function edgeWith(model: ScriptedModel, vars: object, sources?: EdgeOptions['sources']): ControlledEdge {
  return controlledEdge({ workers: {}, keys: [KEY], model, vars: { ...vars }, ...(sources && { sources }) })
}

function workerOfAgents(model: ScriptedModel, vars: object) {
  const nobody = {
    getByName: () => {
      throw new Error('This Worker has no Durable Objects')
    },
  }
  const options: EdgeOptions = { providers: { test: () => () => model }, use: [toolPolicies] }
  const Experts = serveAgents((env: Env) => makeSetup(env, options), AGENTS)
  const env = { MODEL: 'test/scripted', CONVERSATIONS: nobody, DIRECTORIES: nobody, ...vars }
  return new Experts({} as ExecutionContext, env)
}

const CONTROLS: Readonly<Record<string, readonly [policy: object, isReached: boolean]>> = {
  'no policy': [{}, true],
  tenants: [{ lawyer: { tenants: ['ops'] } }, false],
  scopes: [{ lawyer: { scopes: ['law'] } }, false],
  approval: [{ lawyer: { approval: 'always' } }, false],
}

beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
afterEach(() => void vi.restoreAllMocks())

/** The model of all: it asks the clerk, as the clerk the lawyer, and answers with what it is told. */
const answer: Script = ({ messages: [first, ...rest] }) => {
  const last = rest.at(-1)
  if (first?.content === 'I am the lawyer.') return say('They may.')
  if (last?.role === 'tool') return say('Done.')
  return ask([first?.content === 'I am the clerk.' ? 'lawyer' : 'clerk', { question: 'May they?' }])
}

describe.each(Object.entries(PLACES))('an agent that another one asks, %s', (_, edgeOf) => {
  test.each(Object.entries(CONTROLS))('is bound by %s', async (_, [policy, isReached]) => {
    const model = scripted(
      Array.from({ length: 20 }, () => answer),
      'test/scripted',
    )
    const edge = edgeOf(model, policy)
    const isAsked = () => model.requests.some(({ messages: [first] }) => first?.content === 'I am the lawyer.')
    const { body } = await edge.as(KEY)('/runs', { json: { input: 'Go' } })
    expect([body.answer, isAsked()]).toEqual(['Done.', isReached])
    await edge.as(KEY)('/conversations', { json: { id: 'c' } })
    const run = await edge.as(KEY)('/conversations/c/runs', { json: { input: 'Go' } })
    await edge.as(KEY)(`/conversations/c/runs/${run.body.id}/events`)
    expect(isAsked()).toBe(isReached)
  })
})
