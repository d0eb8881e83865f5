import { describe, expect, test } from 'vitest'
import { patternFault } from '../../src/tool/pattern.ts'

const AMBIGUOUS = 'expected no repeat that can match one text in many ways, such as (a+)+'

describe('a pattern that can hold the engine for hours is refused', () => {
  test.each([
    '(a+)+$',
    '(a*)*',
    '([a-z]+)*$',
    '(a|a)*b',
    '(a|aa)+$',
    '(?:a|b|ab)*c',
    '(x+x+)+y',
    '(\\w|\\d)+$',
    '^(\\w+\\s?)*$',
    '(\\s*\\w+\\s*)*',
    '(a?a?)*b',
    '(a{1,5})+',
    '(a{2,})+',
    '((ab)+)+',
    '(?:[-a-z][a-z]+)*',
    '(?=(a+)+$)a',
    '(ü|ü)*x',
    '([^x]|y)*z',
    '(.|\\s)*x',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(.*a){20}',
    '(a{1000}){1000}',
  ])('%s', (pattern) => {
    expect(patternFault(pattern)).toBe(AMBIGUOUS)
  })
})

describe('a pattern of everyday use is accepted', () => {
  test.each([
    '',
    '\\S',
    '^[A-Z]{3}$',
    '^.{1,2000}$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^[a-z0-9]+(?:-[a-z0-9]+)*$',
    '^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$',
    '^([0-9a-f]{2})+$',
    '^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
    '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$',
    '(foo|bar)*',
    '^\\p{L}+(?: \\p{L}+)*$',
    '^(?:\\d{1,3}\\.){3}\\d{1,3}$',
    '^(\\d{3},)*\\d{3}$',
    '^https?://[^\\s/$.?#].[^\\s]*$',
    '^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$',
    '^(?=.*[A-Z])(?=.*\\d).{8,}$',
    '^([01]\\d|2[0-3]):[0-5]\\d$',
    '^(a{0,2}b)*$',
    '^\\+?[1-9]\\d{1,14}$',
    '^(?:[a-z]|[0-9]|_)+$',
    '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$',
  ])('%s', (pattern) => {
    expect(patternFault(pattern)).toBeUndefined()
  })
})

test('other faults say what they are', () => {
  expect(patternFault('a'.repeat(257))).toBe('expected at most 256 characters')
  expect(patternFault('[')).toMatch(/^expected a regular expression of the flag u: /)
  expect(patternFault('(a)\\1')).toBe('expected no reference back to a group')
  expect(patternFault('(?<n>a)\\k<n>')).toBe('expected no reference back to a group')
})
