import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nameOf, wireName } from '../../src/contract/tool-names.ts'

const PROVIDERS_TAKE = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

test.each([
  ['get_weather', 'get_weather'],
  ['getWeather-2', 'getWeather-2'],
  ['_private', '_private'],
  ['files.read', 'files_x2e_read'],
  ['get weather', 'get_x20_weather'],
  ['2fast', '_x32_fast'],
  ['-v', '_x2d_v'],
  ['天气', '_x5929__x6c14_'],
  ['🌤', '_x1f324_'],
  ['a_x', 'a_x'],
  ['a_x2e_b', 'a_x5f_x2e_b'],
  ['a.b_x2e_c', 'a_x2e_b_x5f_x2e_c'],
  ['_x2e.', '_x5f_x2e_x2e_'],
])('the wire name of %s is %s', (name, wire) => {
  expect(wireName(name)).toBe(wire)
  expect(nameOf(wire)).toBe(name)
})

describe('a wire name that would be too long', () => {
  const long = `github.com/${'repos/'.repeat(20)}list`

  test('is cut, and distinguished by a hash of the full name', () => {
    const wire = wireName(long)
    expect(wire).toBe('github_x2e_com_x2f_repos_x2f_repos_x2f_repos_h3b76f9e8f7305126')
    expect([wireName(`${long}s`) === wire, nameOf(wire)]).toEqual([false, undefined])
    expect(wireName('a'.repeat(64))).toBe('a'.repeat(64))
    expect(wireName('a'.repeat(65))).toMatch(/^a{46}_h[0-9a-f]{16}$/)
  })

  test('does not collide with a name that looks like it', () => {
    const wire = wireName(long)
    expect(wireName(wire)).not.toBe(wire)
  })
})

test('a text that is the wire name of no tool decodes to itself', () => {
  expect(nameOf('a_x110000_b')).toBe('a_x110000_b')
})

test('an empty name is refused', () => {
  expect(() => wireName('')).toThrow(new TypeError('A tool needs a name'))
})

const tricky = fc.stringMatching(/^[a_xh0-9f.e ]{1,24}$/)
const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 90, unit: 'binary' }),
  tricky,
  fc.stringMatching(PROVIDERS_TAKE),
)

test('every name has a wire name that providers accept, which decodes to it unless it was cut', () => {
  fc.assert(
    fc.property(name, (name) => {
      const wire = wireName(name)
      expect(wire).toMatch(PROVIDERS_TAKE)
      expect([name, undefined]).toContain(nameOf(wire))
    }),
    { numRuns: 2000 },
  )
})

test('two names never share a wire name, even if one looks like the other’s', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 12 }), (names) => {
      const all = [...new Set([...names, ...names.map(wireName)])]
      expect(new Set(all.map(wireName)).size).toBe(all.length)
    }),
    { numRuns: 1000 },
  )
})
