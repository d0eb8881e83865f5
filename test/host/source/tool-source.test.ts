import * as v from 'valibot'
import { applyPolicies } from '../../../src/host/policy/source.ts'
import { inOrder } from '../../../src/host/source/chain.ts'
import { inlineSource } from '../../../src/host/source/inline.ts'
import { kvSource } from '../../../src/host/source/kv.ts'
import { serviceSource } from '../../../src/host/source/service.ts'
import { agentSource } from 'edgecall/agent'
import { definitionsWorker } from '../../fixtures/definitions.ts'
import { testSetup } from '../../fixtures/setup.ts'
import { scripted } from '../../fixtures/scripted.ts'
import { augment } from 'edgecall/tool'
import { defineTool } from 'edgecall/tool'
import { testCatalogue } from '../../catalogue/object.ts'
import { say } from '../../fixtures/play.ts'
import { toolSourceSuite } from '../../suites/tool-source.ts'
import { text } from './calls.ts'
import { definition, worker } from './worker.ts'

const CALLER = { tenant: 'acme', scopes: ['chat'] }
const isFirst = (name: string) => name === 'first'
const DONE = { arguments: {}, outcome: text('done') }
const SPLIT = { offered: ['first'], others: ['second'], example: DONE }

function services() {
  const { binding } = worker([definition('first'), definition('second', { reconcile: true, undo: true })])
  return serviceSource({ bindings: { TOOL_A: binding }, offered: ({ name }) => isFirst(name) })
}

function inline() {
  const tools = ['first', 'second'].map((name) =>
    defineTool({ name, description: `Does ${name}.`, input: v.object({}), run: () => 'done' }),
  )
  return inlineSource(tools, { env: {}, offered: isFirst })
}

toolSourceSuite('bound tool Workers', async () => ({ source: services(), ...SPLIT }))

toolSourceSuite('tools in the edge’s own Worker', async () => ({ source: inline(), ...SPLIT }))

toolSourceSuite('stored definitions', async () => {
  const { kv, object } = testCatalogue()
  const source = kvSource({
    namespace: kv,
    catalogue: object,
    definitions: definitionsWorker(),
    worker: () => undefined,
    hosts: {},
    secret: () => '',
  })
  for (const name of ['first', 'second']) {
    const common = { description: `Does ${name}.`, inputSchema: { type: 'object' }, default: isFirst(name) }
    await source.put(name, { ...common, static: { text: 'done' } })
  }
  return { source, ...SPLIT }
})

toolSourceSuite('agents', async () => {
  const model = scripted([say('done'), say('done')], 'test/scripted')
  const { models } = testSetup(model, {})
  const agents = ['first', 'second'].map((name) => ({ name, description: `Does ${name}.`, instructions: 'Do it.' }))
  const example = { arguments: { question: 'Do you?' }, outcome: text('done') }
  return { source: agentSource(agents, { models }), offered: ['first', 'second'], others: [], example }
})

toolSourceSuite('several sources in order', async () => {
  const { binding } = worker([definition('third')])
  const more = serviceSource({ bindings: { TOOL_B: binding }, offered: () => true })
  return { source: inOrder([inline(), more]), offered: ['first', 'third'], others: ['second'], example: DONE }
})

toolSourceSuite('a source under policies', async () => {
  const policies = { second: { timeoutMs: 1000 }, '@TOOL_A': { annotations: { untrusted: true } } }
  return { source: applyPolicies(services(), { policies, rates: {} })(CALLER), ...SPLIT }
})

toolSourceSuite('a source whose tools are augmented', async () => {
  const source = augment(services(), { fields: v.object({ why: v.string() }), read: () => {} })
  return { source, ...SPLIT, example: { arguments: { why: 'Because.' }, outcome: text('done') } }
})
