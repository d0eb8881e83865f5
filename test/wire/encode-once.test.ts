import { describe, expect, test } from 'vitest'
import { encodeGrowing } from '../../src/wire/events.ts'

/** An encoder of lists, and the items that it has encoded. */
function encoder() {
  const encoded: number[] = []
  const encode = encodeGrowing(({ n }: { n: number }) => {
    encoded.push(n)
    return { item: n }
  })
  return { encode: (items: { n: number }[]) => JSON.parse(`[${encode(items)}]`) as unknown, encoded }
}

const [a, b, c] = [{ n: 1 }, { n: 2 }, { n: 3 }] as const

describe('an encoder of growing lists', () => {
  test('encodes only the items that were added to a list', () => {
    const { encode, encoded } = encoder()
    expect(encode([])).toEqual([])
    expect(encode([a])).toEqual([{ item: 1 }])
    expect(encode([a, b, c])).toEqual([{ item: 1 }, { item: 2 }, { item: 3 }])
    expect(encode([a, b, c])).toEqual([{ item: 1 }, { item: 2 }, { item: 3 }])
    expect(encoded).toEqual([1, 2, 3])
  })

  test('encodes a list again if it is shorter or has other items', () => {
    const { encode, encoded } = encoder()
    encode([a, b])
    expect(encode([a])).toEqual([{ item: 1 }])
    expect(encode([a, c])).toEqual([{ item: 1 }, { item: 3 }])
    expect(encode([a, { n: 3 }, b])).toEqual([{ item: 1 }, { item: 3 }, { item: 2 }])
    expect(encoded).toEqual([1, 2, 1, 3, 1, 3, 2])
  })

  test('separates lists with different first items', () => {
    const { encode, encoded } = encoder()
    encode([a, c])
    expect(encode([b, c])).toEqual([{ item: 2 }, { item: 3 }])
    expect(encode([a, c])).toEqual([{ item: 1 }, { item: 3 }])
    expect(encoded).toEqual([1, 3, 2, 3])
  })
})
