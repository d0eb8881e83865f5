import { describe, expect, test } from 'vitest'
import { encodeTexts, NO_TEXTS, readTexts } from '../../../src/host/stored/texts.ts'

describe('the search texts', () => {
  const of = (text = '') => readTexts(text, NO_TEXTS)
  const stored = (count: number, text: string) =>
    Array.from({ length: count }, (_, index) => {
      const inputSchema = { type: 'object', properties: { [`field${index}`]: { description: text } } }
      const definition = { name: `tool${index}`, description: `Does ${index}. ${text}`, inputSchema }
      return { name: `tool${index}`, hash: 'f'.repeat(64), text: JSON.stringify(definition) }
    })

  test('include the parameters and are truncated if long', () => {
    const [tool] = of(encodeTexts(1, 1, stored(1, 'x'.repeat(5000)))).tools
    expect(tool?.description.length).toBe(2000)
    expect(of(encodeTexts(1, 1, stored(1, 'Which one'))).tools[0]?.parameters).toEqual(['field0\nWhich one'])
  })

  test('of any number of tools fit into one KV value', () => {
    for (const count of [10_000, 200_000]) {
      const text = encodeTexts(1, count, stored(count, '天'.repeat(count > 10_000 ? 50 : 2000)))
      expect(Buffer.byteLength(text)).toBeLessThan(25 * 1024 * 1024 * (count > 100_000 ? 2 : 1))
      expect(of(text).tools).toHaveLength(count)
    }
  })

  test('are read again only for what has changed, and unknown content is ignored', () => {
    const [first, second] = stored(2, 'x')
    const before = of(encodeTexts(1, 2, [first!, second!]))
    const after = readTexts(`${encodeTexts(2, 2, [first!, { ...second!, hash: 'other' }])}\n{}\n[1,2]\nnone`, before)
    expect(after.tools).toEqual([before.tools[0], { ...before.tools[1], hash: 'other' }])
    expect(after.tools[0]).toBe(before.tools[0])
    expect(of('nonsense')).toEqual(NO_TEXTS)
  })
})
