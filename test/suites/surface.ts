import { describe, expect, test } from 'vitest'
import { contentText } from '../../src/contract/message.ts'
import { bearer, apiKey, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from '../http/kept-edge.ts'

/** A surface as its callers use it. */
export interface SurfaceOfSuite {
  readonly path: string
  /** Makes the body of a request; for a surface that runs models, one that says this text to the model. */
  readonly body: (text: string) => object
  /** Returns the text of the model in the body of an answer. Absent: the surface runs no model. */
  readonly textOf?: (answer: string) => string
  /** Returns the code of an error in the body of an answer. Absent: the surface has no codes of the edge. */
  readonly codeOf?: (error: Record<string, any>) => unknown
  /** A body in which a member has another type than it may have. */
  readonly invalid: object
}

/** What every surface promises. */
export function surfaceSuite(name: string, surface: SurfaceOfSuite): void {
  const { path, body, textOf, codeOf, invalid } = surface
  const keys = withKeys(apiKey('full'), apiKey('reader', { scopes: ['tools:admin'] }))

  describe(`the surface of ${name}`, () => {
    test.runIf(textOf)('answers with the text of the model, which got what the caller said', async () => {
      const edge = keptEdge({ script: [say('Good day.')] })
      const response = await edge.post(path, body('Hello'))
      expect(response.status).toBe(200)
      expect(textOf?.(await response.text())).toBe('Good day.')
      expect(edge.requests[0]?.messages.map(({ role, content }) => [role, contentText(content)])).toEqual([
        ['user', 'Hello'],
      ])
    })

    test.runIf(textOf)('runs the tools of the edge, and gives their results to the model', async () => {
      const clock = tool('clock', () => '12:00')
      const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [clock] })
      const response = await edge.post(path, body('What time is it?'))
      expect(textOf?.(await response.text())).toBe('Noon.')
      expect(edge.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', tool: 'clock', ok: true })
    })

    const refusals: readonly (readonly [refused: string, init: RequestInit, status: number, code: unknown])[] = [
      ['without a key', { headers: {} }, 401, expect.stringMatching(/unauthorized|invalid_api_key/)],
      ['whose key lacks the scope', { headers: bearer('reader') }, 403, 'missing_scope'],
      [
        'that is not JSON by its type',
        { headers: { ...bearer('full'), 'content-type': 'text/plain' } },
        415,
        'unsupported_media_type',
      ],
      ['that is not JSON by its text', { headers: bearer('full'), body: '{' }, 400, 'malformed_body'],
      ['without a body', { headers: bearer('full'), body: '' }, 400, 'malformed_body'],
      [
        'with a member of another type',
        { headers: bearer('full'), body: JSON.stringify(invalid) },
        400,
        expect.anything(),
      ],
    ]

    test.each(refusals)('refuses a request %s, in its own format, and calls no model', async (_, init, ...refusal) => {
      const edge = keptEdge({ script: [], vars: keys })
      const content = { 'content-type': 'application/json' }
      const response = await edge.fetch(path, {
        method: 'POST',
        body: JSON.stringify(body('Hello')),
        ...init,
        headers: { ...content, ...Object.fromEntries(new Headers(init.headers)) },
      })
      const [status, code] = refusal
      expect(response.status).toBe(status)
      const error: unknown = await response.json()
      if (codeOf) expect(codeOf(Object(error))).toEqual(code)
      expect(edge.requests).toEqual([])
    })
  })
}
