import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { redactor } from '../../src/definitions/http/result.ts'
import { sendOutbound } from '../../src/definitions/code/outbound.ts'

const SECRET = 'sk-Ab/9+"<é&\'zZ%\\q=='

const units = (text: string, form: (hex: string) => string) =>
  text
    .split('')
    .map((unit) => form(unit.charCodeAt(0).toString(16).padStart(4, '0')))
    .join('')
const bytesOf = (text: string) => Buffer.from(text, 'utf8')
const ENCODERS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text).slice(1, -1),
  'json of slashes': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'json of ASCII': (text) => text.replace(/[^\w]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
  url: encodeURIComponent,
  'url in lower case': (text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  'url of every byte': (text) => [...bytesOf(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  html: (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
  'html in hexadecimal': (text) => text.replace(/[^\w]/gu, (char) => `&#x${char.codePointAt(0)?.toString(16)};`),
  hex: (text) => bytesOf(text).toString('hex'),
  'hex in upper case': (text) => bytesOf(text).toString('hex').toUpperCase(),
  base64: (text) => bytesOf(text).toString('base64'),
  base64url: (text) => bytesOf(text).toString('base64url'),
  'base64 after one byte': (text) => bytesOf(`x${text}yz`).toString('base64'),
  'base64 after two bytes': (text) => bytesOf(`xx${text}y`).toString('base64'),
  'base64 in lines': (text) =>
    bytesOf(`${'x'.repeat(60)}${text}`)
      .toString('base64')
      .replace(/.{76}/g, '$&\r\n'),
  'base64 of UTF-16': (text) => Buffer.from(text, 'utf16le').toString('base64'),
  'base64 of UTF-16 in the other order': (text) => Buffer.from(text, 'utf16le').swap16().toString('base64'),
  'hex of UTF-16': (text) => Buffer.from(text, 'utf16le').toString('hex'),
  'UTF-16 read as bytes': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
  'url of UTF-16 units': (text) => units(text, (hex) => `%u${hex}`),
  'json of every unit': (text) => units(text, (hex) => `\\u${hex}`),
  'JavaScript of every unit': (text) => units(text, (hex) => `\\u{${hex}}`),
  'JavaScript of Latin letters': (text) => units(text, (hex) => `\\x${hex.slice(2)}`),
  'html of every unit': (text) => units(text, (hex) => `&#${parseInt(hex, 16)};`),
  'html with zeros in front': (text) => units(text, (hex) => `&#x0000${hex};`),
  'html of decimals with zeros in front': (text) =>
    units(text, (hex) => `&#${String(parseInt(hex, 16)).padStart(9, '0')};`),
  'html in capital names': (text) =>
    text.replaceAll('&', '&AMP;').replaceAll('<', '&LT;').replaceAll('"', '&QUOT;').replaceAll("'", '&#39;'),
  'html of other signs': (text) =>
    text.replace(
      /[/+%=\\]/g,
      (char) => ({ '/': '&sol;', '+': '&plus;', '%': '&percnt;', '=': '&equals;' })[char] ?? '&bsol;',
    ),
  'hex with colons': (text) => (bytesOf(text).toString('hex').match(/../g) ?? []).join(':'),
  'hex with spaces': (text) => (bytesOf(text).toString('hex').toUpperCase().match(/../g) ?? []).join(' '),
  'base64url inside a text': (text) => bytesOf(`Bearer ${text}, thanks`).toString('base64url'),
}

/** The part of an encoded secret that must not be left: all but the ends, which other text takes part in. */
const core = (text: string) => text.slice(3, -5)

describe('a secret is removed', () => {
  const { text: redact } = redactor([SECRET])

  test.each(Object.keys(ENCODERS))('encoded as %s', (name) => {
    const encoded = ENCODERS[name]?.(SECRET) ?? ''
    const output = redact(`before ${encoded} after`)
    expect(output).toContain('[redacted]')
    expect(output).not.toContain(core(encoded))
    expect(output).toMatch(/^before [^]* after$/)
  })

  const names = Object.keys(ENCODERS)
  // Encoders that escape more than they must are found once, not on top of another.
  const usual = names.filter(
    (name) => !/every|ASCII|hexadecimal|16|Java|html (?:w|in capital|of)|in lines|colons|spaces/.test(name),
  )
  const pairs = usual.flatMap((first) => usual.map((second) => [first, second] as const))
  test.each(pairs)('encoded as %s and then as %s', (first, second) => {
    const encoded = ENCODERS[second]?.(ENCODERS[first]?.(SECRET) ?? '') ?? ''
    const output = redact(encoded)
    expect(output).toContain('[redacted]')
  })

  test('from JSON values, keys and numbers, and other texts stay as they are', () => {
    const { json, text } = redactor(['123456', SECRET])
    expect(json({ a: [SECRET, 123456, 7], [SECRET]: null })).toEqual({
      a: ['[redacted]', '[redacted]', 7],
      '[redacted]': null,
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
          ...names.filter((name) => !name.endsWith('read as bytes')).map((name) => ENCODERS[name] ?? String),
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
