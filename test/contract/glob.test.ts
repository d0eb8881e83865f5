import { expect, test } from 'vitest'
import { matches } from '../../src/contract/tool-names.ts'

test.each<[string[], string, boolean]>([
  [['*'], 'now', true],
  [['*'], '', true],
  [['now'], 'now', true],
  [['now'], 'nowhere', false],
  [['clock_*'], 'clock_now', true],
  [['clock_*'], 'clock', false],
  [['*_now'], 'clock_now', true],
  [['a*b*c'], 'a_b_c', true],
  [['a*b*c'], 'abc', true],
  [['a*b*c'], 'acb', false],
  [['ab*ba'], 'aba', false],
  [['**'], 'x', true],
  [['a*bb*b'], 'abbb', true],
  [['a*bb*b'], 'abb', false],
  [['x', 'n*'], 'now', true],
  [[], 'now', false],
  [['n.w'], 'now', false],
  [['(a+)+'], 'aa', false],
])('matching the globs %j with %j gives %s', (globs, name, expected) => {
  expect(matches(globs, name)).toBe(expected)
})
