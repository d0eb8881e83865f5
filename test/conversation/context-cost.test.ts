import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelRequest } from '../../src/contract/model.ts'
import { say } from '../fixtures/play.ts'
import { TestConversation } from './object.ts'
import { countTokens, WindowModel } from './window-model.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const TURNS = 100
/** The price of a token that a provider reads from its cache, of another one's. */
const CACHED = 0.1

/** The requests of 100 turns of about 270 tokens, half of them the answer's. */
async function requestsOf(vars: Record<string, string>, contextTokens: number): Promise<readonly ModelRequest[]> {
  const model = new WindowModel(contextTokens, 'exact', () => say('ipsum '.repeat(67)))
  const conversation = new TestConversation(model.stream, [], vars)
  conversation.modelWindow = { contextTokens }
  for (let name = 1; name <= TURNS; name++) await conversation.run(name, `${name} ${'lorem '.repeat(66)}`)
  expect(model.requests).toHaveLength(TURNS)
  return model.requests
}

/** The tokens that were sent, and what they cost if the beginning of the request before is read from a cache. */
function paidFor(requests: readonly ModelRequest[]): { all: number; withCache: number } {
  let all = 0
  let withCache = 0
  for (const [index, request] of requests.entries()) {
    const texts = request.messages.map((message) => JSON.stringify(message))
    const before = requests[index - 1]?.messages.map((message) => JSON.stringify(message)) ?? []
    const same = texts.findIndex((text, at) => text !== before[at])
    const tokens = countTokens(request)
    const cached = countTokens({ messages: request.messages.slice(0, same), tools: [] })
    all += tokens
    withCache += tokens - cached + cached * CACHED
  }
  return { all, withCache }
}

test('docs/performance.md says what the input of a hundred turns costs', async () => {
  const rows = {
    'everything, a window of 128,000 tokens': await requestsOf(
      { MEMORY_MESSAGES: '100000', MEMORY_TOKENS: '1000000' },
      128_000,
    ),
    'a sliding window, `MEMORY_TOKENS=7000`': await requestsOf({ MEMORY_TOKENS: '7000' }, 16_000),
    'by default, a window of 16,000 tokens': await requestsOf({}, 16_000),
  }
  const page = readFileSync('docs/performance.md', 'utf8').replaceAll(/ +/g, ' ')
  for (const [name, requests] of Object.entries(rows)) {
    const { all, withCache } = paidFor(requests)
    const thousands = (tokens: number) => `${Math.round(tokens / 1000).toLocaleString('en')},000`
    expect(page).toContain(`| ${name} | ${thousands(all)} | ${thousands(withCache)} |`)
  }
})
