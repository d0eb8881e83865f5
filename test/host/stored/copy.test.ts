import { expect, test } from 'vitest'
import { encodeIndex, readIndex } from '../../../src/host/stored/copy.ts'

test('an index finds each of its names, and no other', () => {
  for (const count of [0, 1, 2, 3, 10, 1000]) {
    const names = Array.from({ length: count }, (_, index) => `${'aZ_-9'[index % 5]}${index}`).sort()
    const index = readIndex(
      encodeIndex(
        7,
        names.map((name) => ({ name, hash: `h${name}`, offered: name === 'a0' })),
      ),
    )
    expect([index.revision, index.size, index.names()]).toEqual([7, count, names])
    expect(index.offered).toEqual(count > 0 ? ['a0'] : [])
    for (const name of names) expect(index.hashOf(name)).toBe(`h${name}`)
    for (const name of ['', ' ', 'zz', '!', 'a', '{', '\n', 'a0 ha0']) expect(index.hashOf(name)).toBeUndefined()
  }
})
