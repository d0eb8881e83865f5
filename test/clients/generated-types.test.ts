import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, say, type ScriptedStage, startScripted } from './scripted-stage.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const MODULES = join(ROOT, 'test/node_modules')
const run = promisify(execFile)

let folder = ''
let stage: ScriptedStage
beforeAll(async () => {
  stage = await startScripted()
  // In the folder of the tests, where tsc finds their node_modules; generators tell JSON by the extension.
  folder = mkdtempSync(join(ROOT, 'test/clients/.generated-'))
  copyFileSync(join(ROOT, 'src/http/openapi.txt'), join(folder, 'openapi.json'))
  writeFileSync(join(folder, 'orval.config.mjs'), orvalConfig(new URL(stage.url).origin))
  await Promise.all([
    generate('orval/dist/bin/orval.mjs', '--config', 'orval.config.mjs', '--fail-on-warnings'),
    generate('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'openapi-typescript.ts'),
    generate('@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'hey-api', '--no-log-file'),
  ])
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await stage?.close()
})

function generate(script: string, ...args: readonly string[]): Promise<unknown> {
  return run(process.execPath, [join(MODULES, script), ...args], { cwd: folder })
}

/** Has orval generate a client that calls `fetch`, and the schemas of zod that check bodies and answers. */
function orvalConfig(baseUrl: string): string {
  const outputs = [
    { target: 'orval/index.ts', client: 'fetch', baseUrl },
    { target: 'orval/zod.ts', client: 'zod' },
  ]
  const entries = outputs.map((output) => [output.client, { input: 'openapi.json', output }])
  return `export default ${JSON.stringify(Object.fromEntries(entries))}`
}

/** The body of README's request. */
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const [, REQUEST = ''] = /curl \S+\/v1\/chat\/completions [^]*? -d '(.*)'\n/.exec(readme) ?? []

/** How each generator names the types of a body and of an answer. */
const GENERATORS = {
  'openapi-typescript': `
    import type { components, paths } from './openapi-typescript.ts'
    type Create = paths['/v1/chat/completions']['post']
    type Body = Create['requestBody']['content']['application/json']
    type Answer = Create['responses'][200]['content']['application/json']
    type Chunk = components['schemas']['ChatCompletionChunk']
    type Run = paths['/runs']['post']['responses'][200]['content']['application/json']
    type RunBody = paths['/runs']['post']['requestBody']['content']['application/json']
    type Tool = components['schemas']['HttpTool']
    type Created = paths['/v1/responses']['post']['responses'][200]['content']['application/json']`,
  'hey-api': `
    import * as api from './hey-api/index.ts'
    type Body = api.CreateChatCompletionData['body']
    type Answer = api.CreateChatCompletionResponses[200]
    type Chunk = api.ChatCompletionChunk
    type Run = api.RunResponses[200]
    type RunBody = api.RunData['body']
    type Tool = api.HttpTool
    type Created = api.CreateResponseResponses[200]

    export async function send(baseUrl: string, headers: Record<string, string>) {
      const { data, error } = await api.createChatCompletion({ body: request, baseUrl, headers })
      return data ? { answer: data, text: data.choices[0]?.message.content } : { refusal: error?.error.code }
    }`,
  orval: `
    import * as api from './orval/index.ts'
    import { CreateChatCompletionResponse } from './orval/zod.ts'
    type Body = api.ChatCompletionBody
    type Answer = api.ChatCompletion
    type Chunk = api.ChatCompletionChunk
    type Run = api.Run
    type RunBody = api.RunBody
    type Tool = api.HttpTool
    type Created = api.OpenAIResponse

    export async function send(_baseUrl: string, headers: Record<string, string>) {
      const { status, data } = await api.createChatCompletion(request, { headers })
      if (status !== 200) return { refusal: data.error.code }
      const answer = CreateChatCompletionResponse.parse(data)
      return { answer, text: answer.choices[0]?.message.content }
    }`,
}

/** What a caller writes with the types. A line after `@ts-expect-error` must not compile. */
const USE = `
  export const request: Body = ${REQUEST}
  export const full: Body = {
    ...request,
    logit_bias: { '50256': -100 },
    tools: [{ type: 'function', function: { name: 'pick', parameters: { type: 'object', properties: { colour: { type: 'string' } } } } }],
    edgecall: { tools: ['currentTime'], context: { tenantId: 'acme' }, limits: { steps: 3 } },
  }
  export async function ask(): Promise<string> {
    const response = await fetch('http://127.0.0.1:8787/v1/chat/completions', { method: 'POST', body: JSON.stringify(request) })
    const answer: Answer = await response.json()
    const tokens: number = answer.usage.total_tokens
    const [choice] = answer.choices
    const calls = choice?.message.tool_calls?.map((call) => call.function.name.length)
    const ran = answer.edgecall.calls.map((call) => call.tool.length + call.durationMs)
    const text: string = choice?.message.content ?? ''
    return [text, tokens, calls, ran, choice?.finish_reason.length].join(' ')
  }
  export function textOf(chunk: Chunk): string {
    return chunk.choices[0]?.delta.content ?? ''
  }
  export function outputOf(response: Created): string[] {
    return response.output.flatMap((item) => (item.type === 'message' ? item.content.map((part) => part.text) : []))
  }
  export const input: RunBody = { input: 'Hello', context: { tenantId: 'acme' } }
  export function answerOf(run: Run): string {
    return run.answer + run.usage.inputTokens.toFixed()
  }
  export const tool: Tool = {
    name: 'orders',
    description: 'Lists orders.',
    inputSchema: { type: 'object', properties: { since: { type: 'string' } } },
    http: { method: 'GET', url: 'https://api.example.com/orders' },
  }

  // @ts-expect-error: a message has a role.
  export const wrongRequest: Body = { messages: [{ content: 'Hello' }] }
  // @ts-expect-error: an answer has no such member.
  export const wrongAnswer = (answer: Answer) => answer.choice
  // @ts-expect-error: the content of a message can be null.
  export const wrongText = (answer: Answer): string | undefined => answer.choices[0]?.message.content
`

describe.each(Object.entries(GENERATORS))('the types that %s generates from the OpenAPI document', (name, types) => {
  test('fit the request of README and its answer without casts', async () => {
    expect(JSON.parse(REQUEST)).toMatchObject({ messages: [{ role: 'user' }] })
    writeFileSync(join(folder, `${name}-use.ts`), `${types}\n${USE}`)
    // As a caller’s project: strict, with the types of a browser. The client of hey-api needs the one option off.
    const compilerOptions = { exactOptionalPropertyTypes: false, lib: ['es2024', 'dom', 'dom.iterable'], types: [] }
    const config = { extends: '../../../tsconfig.json', compilerOptions, files: [`${name}-use.ts`], include: [] }
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(config))
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const { stdout } = await run(tsc, ['-p', `${name}.json`], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    )
    expect(stdout).toBe('')
  })
})

describe.each(['hey-api', 'orval'])('the client that %s generates from the OpenAPI document', (name) => {
  test('gets the answer of an edge as its types say, and a refusal as such', async () => {
    const { send } = await import(join(folder, `${name}-use.ts`))
    stage.script(ask(['squareRoot', { number: 1764 }]), say('It is 42.'))
    const { answer, text } = await send(new URL(stage.url).origin, { authorization: `Bearer ${stage.key}` })
    expect([text, answer.edgecall.calls]).toMatchObject(['It is 42.', [{ tool: 'squareRoot', ok: true }]])
    expect(await send(new URL(stage.url).origin, {})).toEqual({ refusal: 'invalid_api_key' })
  })
})
