import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ModelCapabilities } from '../../src/contract/model.ts'
import { type AiSdkModel, fromAiSdk } from '../../src/model/ai-sdk.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { modelChooser } from '../../src/model/choose.ts'
import { gemini } from '../../src/model/gemini.ts'
import { openai } from '../../src/model/openai.ts'
import { responses } from '../../src/model/responses.ts'
import { retrying } from '../../src/model/retry.ts'
import { workersAi } from '../../src/model/workers-ai.ts'

const aiSdk = (more: Partial<AiSdkModel> = {}) =>
  fromAiSdk({
    specificationVersion: 'v4',
    provider: 'test.responses',
    modelId: 'probe',
    doStream: () => Promise.reject(new Error('nobody asks')),
    ...more,
  })

const DECLARED: Readonly<Record<string, ModelCapabilities | undefined>> = {
  openai: openai()('probe').capabilities,
  responses: responses()('probe').capabilities,
  anthropic: anthropic()('probe').capabilities,
  gemini: gemini()('probe').capabilities,
  'workers-ai': workersAi({ run: () => Promise.resolve() })('probe').capabilities,
  'AI SDK': aiSdk().capabilities,
}

test('the table of the suites has the declared capabilities', () => {
  const text = readFileSync(new URL('../suites/README.md', import.meta.url).pathname, 'utf8')
  const [head = [], , ...rows] = text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    )
  const told = head.slice(1).map((provider, at) => {
    const facts = rows.map(([fact = '', ...cells]) => [fact.replace(/:.*/, ''), cells[at]?.startsWith('yes')])
    return [provider, Object.fromEntries(facts)]
  })
  expect(Object.fromEntries(told)).toEqual(DECLARED)
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
