import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ModelCapabilities } from '../../src/contract/model.ts'
import type { Env } from 'edgecall'
import { allProviders } from 'edgecall'
import { type AiSdkModel, fromAiSdk } from '../../src/model/ai-sdk.ts'
import { modelChooser } from '../../src/model/choose.ts'
import { openai } from '../../src/model/openai.ts'
import { retrying } from '../../src/model/retry.ts'

const aiSdk = (more: Partial<AiSdkModel> = {}) =>
  fromAiSdk({
    specificationVersion: 'v4',
    provider: 'test.responses',
    modelId: 'probe',
    doStream: () => Promise.reject(new Error('nobody asks')),
    ...more,
  })

const ENV = { AI: { run: () => Promise.resolve() } } as unknown as Env

const DECLARED: Readonly<Record<string, ModelCapabilities | undefined>> = {
  ...Object.fromEntries(
    Object.entries(allProviders).map(([name, fromEnv]) => [name, fromEnv(ENV)?.('probe').capabilities]),
  ),
  'AI SDK': aiSdk().capabilities,
}

test('the table in docs/models.md has the declared capabilities', () => {
  const page = readFileSync(new URL('../../docs/models.md', import.meta.url).pathname, 'utf8')
  const [, text = ''] = page.split('\n## What the providers can do\n')
  const [head = [], , ...rows] = text
    .split('\n')
    .slice(
      0,
      text.split('\n').findIndex((line) => line.startsWith('## ')),
    )
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    )
  const inTable = head.slice(1).map((provider, at) => {
    const facts = rows.map(([fact = '', ...cells]) => [fact.replace(/:.*/, ''), cells[at]?.startsWith('yes')])
    return [provider, Object.fromEntries(facts)]
  })
  expect(Object.fromEntries(inTable)).toEqual(DECLARED)
})

test('an AI SDK model has the capabilities of its provider', () => {
  expect(aiSdk({ provider: 'test.chat' }).capabilities).toMatchObject({ imagesInResults: false })
  expect(aiSdk({ supportsStructuredOutputs: false }).capabilities).toMatchObject({ structuredOutput: false })
})

test('a model with retries or a price keeps its capabilities', () => {
  const model = retrying(openai()('probe'))
  const models = modelChooser({
    providers: { openai: () => model },
    defaultModel: 'openai/probe',
    prices: { 'openai/probe': { input: 1, output: 2 } },
  })
  expect(models.resolve()).toMatchObject({
    model: { price: { input: 1, output: 2 }, capabilities: DECLARED['openai'] },
  })
})
