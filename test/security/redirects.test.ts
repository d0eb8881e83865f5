import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient } from '../../src/client.ts'
import { createEdge } from 'edgecall'
import { providerVariables } from '../../src/cli/document/provider-variables.ts'
import { send } from '../../src/cli/edge.ts'
import { everything } from 'edgecall/everything'

/** A server that answers every request with a 307 to a second one, which records what reaches it. */
async function redirectingServer(): Promise<{ url: string; arrived: string[] }> {
  const arrived: string[] = []
  const listen = async (answer: Parameters<typeof createServer>[1]): Promise<string> => {
    const server = createServer(answer ?? (() => {}))
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const other = await listen((request, response) => {
    arrived.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const url = await listen((request, response) => {
    response.writeHead(307, { location: other + request.url, connection: 'close' }).end()
  })
  return { url, arrived }
}

const nobody = () => {
  throw new Error('This edge has no Durable Objects')
}

describe('a redirect is never followed with credentials', () => {
  // Those of decision models are tested in test/model/decisions.test.ts.
  const servers = Object.entries(providerVariables()).filter(
    ([provider, variables]) => provider in everything.providers && variables.length > 0,
  )

  test.each(servers)('in a request to a model of %s', async (provider, variables) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { url, arrived } = await redirectingServer()
    const env = {
      CONVERSATIONS: { getByName: nobody },
      DIRECTORIES: { getByName: nobody },
      AUTH: 'open',
      MODEL: `${provider}/test`,
      ...Object.fromEntries(variables.map((name) => [name, name.endsWith('_BASE_URL') ? url : 'sk-the-key'])),
    }
    const body = JSON.stringify({ input: 'a private conversation' })
    const headers = { 'content-type': 'application/json' }
    const response = await createEdge(everything).fetch(
      new Request('http://127.0.0.1:8787/runs', { method: 'POST', headers, body }),
      env,
    )
    expect(arrived).toEqual([])
    expect([response.status, await response.json()]).toMatchObject([
      502,
      {
        code: 'model_bad_response',
        detail:
          'The model server answered with a redirect, which is not followed: correct the base URL of the provider.',
      },
    ])
    expect(JSON.stringify(vi.mocked(console.error).mock.calls)).not.toContain('sk-the-key')
  })

  test('in the client', async () => {
    const { url, arrived } = await redirectingServer()
    await expect(createClient({ url, key: 'key' }).run('Hello')).rejects.toMatchObject({
      code: 'redirected',
      status: 307,
    })
    expect(arrived).toEqual([])
  })

  test('in a command', async () => {
    const { url, arrived } = await redirectingServer()
    await expect(send({ url, key: 'key' }, { method: 'POST', path: '/runs', body: {} })).rejects.toThrow(
      /redirects to http:\/\/127/,
    )
    expect(arrived).toEqual([])
  })
})

/** Files of `src` and `tools` that say `fetch` in their code and send nothing to another origin with it. */
const SENDS_NOTHING = new Set([
  // The edge and the isolate of a program, which speak through one request.
  'src/code/kit.ts',
  'src/code/program.ts',
  'src/code/sandbox.ts',
  'src/agent.ts',
  'src/cli/check/describe.ts',
  'src/client.ts',
  'src/client/request.ts',
  'src/definitions/code/worker.ts',
  'src/definitions/code/worker.ts',
  // Passes requests on to a Worker of the dispatch namespace.
  'src/host/worker/script.ts',
  'src/http/app/edge.ts',
  'src/stored.ts',
  'src/tool/serve.ts',
  // Workers of tests, which only reach the test itself.
  'src/testing/faulty-tool.ts',
  'src/testing/running-tool.ts',
  'src/cli/offline.ts',
  'tools/offline/index.ts',
  'tools/offline/tool.ts',
  'tools/offline/vocabulary.ts',
  // A word of a pattern, or of a page.
  'src/studio/conversation/examples.ts',
  'src/wire/provider/refused-item.ts',
  'src/cli/document/members.ts',
  // It passes on what the Worker itself sends.
  'src/platform/globals.ts',
  // These pass the function on to a file that sends.
  'src/model/gemini.ts',
  'src/model/openai.ts',
  'src/definitions/service.ts',
  'tools/web/tools.ts',
  'tools/mcp/index.ts',
])

test('every file of src and tools that sends requests sets `redirect` of `fetch`', () => {
  const files = ['src', 'tools'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.test)\.tsx?$/.test(file) && !/node_modules|\.wrangler/.test(file))
      .map((file) => `${folder}/${file}`),
  )
  const senders = files.filter((file) => {
    const code = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*|'[^'\n]*'/g, '')
    return /\bfetch\b/.test(code) && !SENDS_NOTHING.has(file)
  })
  expect(senders.length).toBeGreaterThan(5)
  expect(senders.filter((file) => !/redirect: 'manual'/.test(readFileSync(file, 'utf8')))).toEqual([])
})
