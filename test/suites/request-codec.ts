import { describe, expect, test } from 'vitest'
import type { Message, UserContent } from '../../src/contract/message.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import { changesIn, NUMBER_PARTS } from '../fixtures/json-numbers.ts'

/** Calls that models made of tools that do not exist, and the name that each has in a history. */
const NAMES = [
  ['browser.tabs.open', 'browser_tabs_open'],
  ['weather<|channel|>commentary', 'weather__channel__commentary'],
  ['wetter für Köln', 'wetter_f_r_K_ln'],
  ['x'.repeat(100), 'x'.repeat(64)],
  ['get-weather_2', 'get-weather_2'],
]

const LINK = 'https://files.example.com/a'

const LINKS: readonly UserContent[] = [
  { type: 'image', mediaType: 'image/*', url: LINK },
  { type: 'file', mediaType: 'application/pdf', url: LINK },
]

/** How a format encodes a request, and what it does in its own way. */
export interface RequestCodec {
  /** Returns the body, parsed. */
  readonly encode: (request: ModelRequest) => unknown
  /** How often a body has the name of a call that has a result: some formats repeat it in the result. */
  readonly namesOfCall: number
  /** Whether it has Anthropic's `thinking`. Default: no. */
  readonly takesThinking?: boolean
  /** The parts of a body that link to an image and to a PDF, for a format that has such parts. */
  readonly links?: (url: string) => readonly object[]
}

/** What every codec of requests promises. */
export function requestCodecSuite(format: string, { encode, namesOfCall, links, takesThinking }: RequestCodec): void {
  describe(`the requests of ${format}`, () => {
    test('have a valid name for a call of a tool that does not exist', () => {
      for (const [tool = '', name] of NAMES) {
        const messages: Message[] = [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: '', calls: [{ callId: 'c1', tool, arguments: '{}' }] },
          { role: 'tool', callId: 'c1', tool, ok: false, content: [{ type: 'text', text: 'No such tool.' }] },
        ]
        const body = JSON.stringify(encode({ messages, tools: [] }))
        const names = [...body.matchAll(/"(?:name|toolName)":"([^"]*)"/g)].map((match) => match[1])
        expect(names).toEqual(Array.from({ length: namesOfCall }, () => name))
      }
    })

    test('change no number in the arguments and results of a history', () => {
      for (const { numbers, list } of NUMBER_PARTS) {
        const messages: Message[] = [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: 'list', arguments: list }] },
          { role: 'tool', callId: 'c1', tool: 'list', ok: true, content: [{ type: 'text', text: list }] },
        ]
        const definition = { description: 'Lists.', inputSchema: { type: 'object' }, version: '1', hash: 'h' }
        const tools = [{ name: 'list', annotations: {}, ...definition }]
        expect(changesIn(encode({ messages, tools }), numbers)).toEqual([[], []])
      }
    })

    test('say in effort how much a model is to think, which only Anthropic’s models are efforts in tokens', () => {
      const effortOf = (sampling: object) => {
        const body = JSON.stringify(
          encode({ messages: [{ role: 'user', content: 'Hi' }], tools: [], sampling: { ...sampling } }),
        )
        return [/"thinking":/.test(body), /(?:effort|reasoning|thinkingLevel)":"(\w+)"/.exec(body)?.[1]]
      }
      const efforts = [1000, 10_000, 30_000].map((budget_tokens) =>
        effortOf({ thinking: { type: 'enabled', budget_tokens } }),
      )
      if (takesThinking) return expect(efforts).toEqual([1, 2, 3].map(() => [true, undefined]))
      expect(efforts).toEqual([
        [false, 'low'],
        [false, 'medium'],
        [false, 'high'],
      ])
      expect(effortOf({ thinking: { type: 'enabled', budget_tokens: 1000 }, reasoning_effort: 'high' })).toEqual([
        false,
        'high',
      ])
      expect(effortOf({ thinking: { type: 'adaptive' } })).toEqual([false, undefined])
    })

    if (!links) return
    test('have the parts of the format for files under a URL', () => {
      const body = JSON.stringify(encode({ messages: [{ role: 'user', content: LINKS }], tools: [] }))
      for (const part of links(LINK)) expect(body).toContain(JSON.stringify(part))
    })
  })
}
