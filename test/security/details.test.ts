import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createEdge, type Env } from 'edgecall'
import { everything } from 'edgecall/everything'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'

const SECRET = 'postgres://admin:hunter2@db.internal'

const nobody = () => {
  throw new Error('This edge has no Durable Objects')
}

/** Asks an edge with everything with these bindings and variables. Returns its answer, and what it logged. */
async function ask(path: string, more: object, host = 'edge.example.com'): Promise<{ answer: string; log: string }> {
  const log: string[] = []
  const spy = vi.spyOn(console, 'error').mockImplementation((line: string) => void log.push(line))
  onTestFinished(() => spy.mockRestore())
  const keys = withKeys(apiKey('reader', { scopes: ['tools:read', 'tools:write', 'chat'] }))
  const env: Env = { CONVERSATIONS: { getByName: nobody }, DIRECTORIES: { getByName: nobody }, ...keys, ...more }
  const request = new Request(`https://${host}${path}`, { headers: bearer('reader') })
  const response = await createEdge(everything).fetch(request, env)
  return { answer: `${response.status} ${await response.text()}`, log: log.join('\n') }
}

describe('internal error details are logged and not sent to callers', () => {
  const description = { contract: 1, tools: [{ name: 'a', description: SECRET, inputSchema: { type: SECRET } }] }
  test.each<[string, object]>([
    ['a describe() that throws', { describe: () => Promise.reject(new Error(`cannot reach ${SECRET}`)) }],
    ['a describe() that answers a text', { describe: async () => SECRET }],
    ['a description of the wrong shape', { describe: async () => ({ ...description, contract: SECRET }) }],
  ])('for %s', async (_, binding) => {
    const { answer, log } = await ask('/tools', { TOOL_DATA: binding })
    expect(answer).not.toContain('hunter2')
    expect(JSON.parse(answer.slice(4))).toMatchObject([{ name: 'TOOL_DATA', available: false }])
    expect(log).toContain('hunter2')
    expect((await ask('/tools/TOOL_DATA', { TOOL_DATA: binding })).answer).not.toContain('hunter2')
  })

  test('for stored definitions that cannot be read', async () => {
    const broken = {
      CATALOG: { getByName: nobody },
      DEFINITIONS: {},
      TOOLS: { get: () => Promise.reject(new Error(`cannot reach ${SECRET}`)) },
    }
    const { answer, log } = await ask('/tools', broken)
    expect(answer).toContain('the stored definitions cannot be read now')
    expect(answer).not.toContain('hunter2')
    expect(log).toContain('hunter2')
  })

  test.each([
    [{ TOOL_POLICY: JSON.stringify({ '*': { scopes: SECRET } }) }, 'TOOL_POLICY must be'],
    [{ MAX_STEPS: SECRET }, 'MAX_STEPS must be a whole number'],
    [{ API_KEYS: SECRET }, 'API_KEYS must be'],
  ])('for an invalid variable: %j', async (vars, names) => {
    for (const path of ['/health', '/tools', '/v1/models', '/mcp']) {
      const { answer, log } = await ask(path, vars)
      expect(answer).toContain('The setup of this edge failed; its log has the reason.')
      expect(answer).not.toMatch(/hunter2|TOOL_POLICY|MAX_STEPS|API_KEYS/)
      expect(log).toContain(names)
    }
    // Its developer, who asks over loopback, is told which variable it is; its value is told to nobody.
    const { answer, log } = await ask('/health', vars, 'localhost')
    expect(answer).toContain(names)
    expect(answer + log).not.toContain('hunter2')
  })
})
