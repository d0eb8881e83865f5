import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { redactor } from '../../src/definitions/http/result.ts'
import { sendOutbound } from '../../src/definitions/code/outbound.ts'
import { bytesOf, ENCODERS } from './secret-forms.ts'

const SECRET = 'sk-Ab/9+"<é&\'zZ%\\q=='
/** As long as the keys of most providers. */
const LONG = `sk-proj-${SECRET}${'T3BlbkFJ_9aC-xW5'.repeat(8)}zA`

/** The part of an encoded secret that must not be left: all but the ends, which other text takes part in. */
const core = (text: string) => text.slice(3, -5)

describe.each([
  ['a short secret', SECRET],
  ['a long secret', LONG],
])('%s is removed', (_, secret) => {
  const { text: redact } = redactor([secret])

  test.each(Object.keys(ENCODERS))('encoded as %s', (name) => {
    const encoded = ENCODERS[name]?.(secret) ?? ''
    const output = redact(`before ${encoded} after`)
    expect(output).toContain('[redacted]')
    expect(output).not.toContain(core(encoded))
    expect(output).toMatch(/^before [^]* after$/)
  })

  const names = Object.keys(ENCODERS)
  // Encoders that escape more than they must are found once, not on top of another.
  const usual = names.filter(
    (name) =>
      !/every|ASCII|hexadecimal|16|Java|html (?:w|in capital|of)|in lines|colons|spaces|mixed|without|quoted|octal|list/.test(
        name,
      ),
  )
  const pairs = usual.flatMap((first) => usual.map((second) => [first, second] as const))
  test.each(pairs)('encoded as %s and then as %s', (first, second) => {
    const encoded = ENCODERS[second]?.(ENCODERS[first]?.(secret) ?? '') ?? ''
    const output = redact(encoded)
    expect(output).toContain('[redacted]')
  })

  test('from a text that comes in pieces, whose other parts stay as they are', () => {
    const filter = redactor([secret])
    const word = fc.stringMatching(/^[a-z+/=&%-]{1,30}$/)
    const forms = names.filter((name) => !name.endsWith('in lines')).map((name) => ENCODERS[name]?.(secret) ?? '')
    const part = fc.oneof(
      word.map((text) => ({ text, pattern: text.replace(/[+/&%-]/g, '\\$&') })),
      // The ends of encoded forms are of what stands beside the secret, or pass before it is known what they are of.
      fc.constantFrom(...forms).map((text) => ({ text, pattern: '[^]{0,14}\\[redacted\\][^]{0,14}' })),
    )
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
        (parts, lengths) => {
          const text = parts.map((each) => each.text).join('. ')
          const pieces = filter.pieces()
          let output = ''
          for (let at = 0, turn = 0; at < text.length; turn++) {
            const length = lengths[turn % lengths.length] ?? 1
            output += pieces.add(text.slice(at, at + length))
            at += length
          }
          output += pieces.rest()
          expect(output).toMatch(new RegExp(`^${parts.map(({ pattern }) => pattern).join('\\. ')}$`))
        },
      ),
      { numRuns: 500 },
    )
  })

  test('from a text that comes in pieces, of which only an end that may begin one is held back', () => {
    const pieces = redactor([secret]).pieces()
    const [first = ''] = secret
    const output = [' Hello', ' world', first, 'x', 'c2', 'st', '!'].map((piece) => pieces.add(piece))
    expect(output).toEqual([' Hello', ' world', '', `${first}x`, 'c2', '', 'st!'])
  })
})

describe('a secret is removed', () => {
  test('from JSON values, keys and numbers, and other texts stay as they are', () => {
    const { json, text } = redactor(['123456', SECRET])
    const value = { a: [SECRET, 123456, 7], [SECRET]: null, buffer: bytesOf(`x${SECRET}`).toJSON(), bytes: [1, 2] }
    expect(json(value)).toEqual({
      a: ['[redacted]', '[redacted]', 7],
      '[redacted]': null,
      buffer: { type: 'Buffer', data: ['[redacted]'] },
      bytes: [1, 2],
    })
    const other = 'Nothing of it: 12345, sk-Ab, %2F&amp;\\u0026 c2stQWI='
    expect(text(other)).toBe(other)
  })

  test('from a stream of bytes, wherever its chunks cut it, and the rest is passed on unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 3000 }),
        fc.uint8Array({ maxLength: 3000 }),
        // As UTF-8, those characters are no bytes of UTF-16 any more.
        fc.constantFrom(
          ...Object.keys(ENCODERS)
            .filter((name) => !name.endsWith('read as bytes'))
            .map((name) => ENCODERS[name] ?? String),
        ),
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 }),
        async (before, after, encode, sizes) => {
          const secret = bytesOf(encode(SECRET))
          const bytes = Buffer.concat([before, secret, after])
          const chunks: Uint8Array[] = []
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1
            chunks.push(new Uint8Array(bytes.subarray(at, at + size)))
            at += size
          }
          const body = new ReadableStream<Uint8Array>({
            start: (controller) => {
              for (const chunk of chunks) controller.enqueue(chunk)
              controller.close()
            },
          })
          const output = Buffer.from(await new Response(redactor([SECRET]).stream(body)).arrayBuffer())
          const at = output.indexOf('[redacted]')
          expect(at).toBeGreaterThanOrEqual(before.length)
          expect(output.subarray(0, before.length).equals(before)).toBe(true)
          expect(output.subarray(output.length - after.length).equals(after)).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
  })
})

test('the code of a tool does not get a secret back from a binary answer, nor in UTF-16', async () => {
  const secret = { name: 'SECRET_A', value: SECRET, standIn: 'SECRET_A.stand-in' }
  const grant = { origins: { 'https://api.example.com': ['SECRET_A'] }, secrets: [secret] }
  const image = Buffer.concat([Buffer.from([0, 255, 137, 80]), bytesOf(SECRET), Buffer.from([13, 10, 0])])
  const answers = [
    [image, 'image/png'],
    [Buffer.from(SECRET, 'utf16le'), 'text/plain; charset=utf-16'],
    [Buffer.from(SECRET, 'utf16le').swap16(), 'application/octet-stream'],
  ] as const
  for (const [body, type] of answers) {
    const request = new Request('https://api.example.com/', { headers: { authorization: secret.standIn } })
    const response = await sendOutbound(
      request,
      grant,
      async () => new Response(body, { headers: { 'content-type': type } }),
    )
    const output = Buffer.from(await response.arrayBuffer())
    expect(output.includes('[redacted]')).toBe(true)
    expect(output.includes(body.subarray(4, -4))).toBe(false)
    expect(response.headers.get('content-type')).toBe(type)
  }
})
