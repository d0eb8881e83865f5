import { readConfig } from '../../src/contract/config.ts'
import { isObject } from '../../src/contract/json.ts'
import { chain } from '../../src/host/source/chain.ts'
import { kvSource } from '../../src/host/source/kv.ts'
import { serviceSource } from '../../src/host/source/service.ts'
import type { ToolBinding } from '../../src/host/worker/call.ts'
import { definitionsWorker } from '../fixtures/definitions.ts'
import { type TestEdge, testEdge } from '../fixtures/edge.ts'
import type { TestCatalogue } from './object.ts'

const ECHO: ToolBinding = {
  describe: async () => ({
    contract: 1,
    tools: [
      {
        name: 'echo',
        description: 'Echoes.',
        inputSchema: { type: 'object' },
        version: '1',
        hash: 'h',
        annotations: {},
      },
    ],
  }),
  call: async (request: unknown) => ({
    ok: true,
    content: [],
    structured: isObject(request) ? request['arguments'] : undefined,
  }),
}

/** An edge over a catalogue, with a server that answers what it was sent. */
export function edgeOver({ kv, object }: TestCatalogue): TestEdge {
  const config = readConfig({ HTTP_TOOL_HOSTS: { 'api.example.com': [] } })
  const services = serviceSource({ bindings: { TOOL_ECHO: ECHO }, offered: () => false })
  const fetch = async (href: string, { body }: RequestInit = {}) => {
    const { origin, pathname, searchParams } = new URL(href)
    const query = searchParams.size > 0 && { query: [...searchParams] }
    return Response.json({
      url: origin + pathname,
      ...query,
      body: JSON.parse(typeof body === 'string' ? body : 'null'),
    })
  }
  const tools = kvSource({
    namespace: kv,
    catalogue: object,
    definitions: definitionsWorker({ fetch }),
    hosts: config.httpToolHosts,
    secret: () => undefined,
    worker: (binding) => services.sourceOfBinding(binding),
  })
  return testEdge({ setup: { stored: () => tools, tools: () => chain([services, tools]) } })
}
