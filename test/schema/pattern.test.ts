import { describe, expect, test } from 'vitest'
import { longestMatched, matcher, startWork } from '../../src/schema/pattern.ts'

/** Whether the pattern matches, where nothing was run before it. */
function isMatch(pattern: string, text: string): boolean | undefined {
  return matcher(pattern)(text, startWork())
}

/** As long as a text can be that a model writes into one argument, within reason. */
const LONG = 'a'.repeat(1000)

describe('a pattern with catastrophic backtracking is not run', () => {
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
    '(?<!a+)b',
    '(ü|ü)*x',
    '([^x]|y)*z',
    '(.|\\s)*x',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(.*a){20}',
    '(a|a){30}b',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    `${'a?'.repeat(60)}${'a'.repeat(60)}$`,
    `${'(a|a)'.repeat(40)}b`,
    '.*.*.*.*.*.*=.*',
    '\\s+$',
    '((a{1000}){1000}){1000}',
  ])('%s', (pattern) => {
    expect(isMatch(pattern, `${LONG}${LONG}${LONG}${LONG}${LONG}${LONG}${LONG}${LONG}!`)).toBeUndefined()
  })

  test('even on a short text, if it can backtrack more often than the text has positions', () => {
    expect(isMatch(`${'(|)'.repeat(60)}b`, '')).toBeUndefined()
    expect(isMatch('(a+)+$', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')).toBeUndefined()
  })
})

describe('a harmless pattern may be skipped, and then rejects nothing', () => {
  test.each([
    '^[a-z0-9]+(?:-[a-z0-9]+)*$',
    '^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$',
    '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?$',
    '^(?=.*[A-Z])(?=.*\\d).{8,}$',
    'a'.repeat(257),
    '[',
    '(?P<year>\\d+)',
    '\\_',
  ])('%s', (pattern) => {
    expect(isMatch(pattern, '!')).toBeUndefined()
  })
})

describe('a plain pattern is run', () => {
  test.each<[string, string, string]>([
    ['\\S', 'a', ' '],
    ['^[A-Z]{3}$', 'USD', 'usd'],
    ['^(latest|\\d{4}-\\d{2}-\\d{2})$', '2026-01-31', '31.1.2026'],
    ['^\\d{4}-\\d{2}-\\d{2}$', '2026-01-31', '2026-1-31'],
    ['^([0-9a-f]{2})+$', 'c0ffee', 'c0ffe'],
    [
      '^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
      '9b2f0c1e-5a77-4d0a-8f3e-0123456789ab',
      '9b2f0c1e-5a77-0d0a-8f3e-0123456789ab',
    ],
    ['^([01]\\d|2[0-3]):[0-5]\\d$', '23:59', '24:00'],
    ['^\\+?[1-9]\\d{1,14}$', '+4915112345678', '0151'],
    ['^https?://[^\\s/$.?#].[^\\s]*$', 'https://example.com/a', 'ftp://example.com/'],
    ['^\\w+@\\w+$', 'me@here', 'me at here'],
    ['^\\p{Lu}\\p{L}*$', 'Élan', 'élan'],
    ['^[\\](){}|*+?\\\\]+$', '(a|b)*'.replace(/[ab]/g, ''), 'a'],
    ['^(?<year>\\d{4})(?:-(?<month>\\d{2}))?$', '2026-01', '2026-1'],
    ['^\\u{1F600}$', '\u{1F600}', 'x'],
    ['^.{1,2000}$', LONG, ''],
  ])('%s', (pattern, good, bad) => {
    expect([isMatch(pattern, good), isMatch(pattern, bad)]).toEqual([true, false])
  })

  test('while its text is short enough', () => {
    expect([100, 1000, 10_000].map((length) => isMatch('^a+b*$', 'a'.repeat(length)))).toEqual([true, true, undefined])
    expect([100, 1_000_000].map((length) => isMatch('^a{3}', 'a'.repeat(length)))).toEqual([true, true])
    expect(['^a+b*$', 'a+b*$', '^a{3}', '^[^@]+@[^@]+$', '^(a+)+$', '['].map(longestMatched)).toEqual([
      3160,
      213,
      Infinity,
      3160,
      0,
      0,
    ])
  })
})

test('the patterns of one check share a limit of steps', () => {
  const work = { ...startWork(), steps: 100 }
  const isMatch = matcher('a{3}$')
  expect([isMatch('aaa', work), work.steps]).toEqual([true, 85])
  expect([isMatch('a'.repeat(400), work), isMatch('b', { ...work, steps: 0 })]).toEqual([undefined, undefined])
  expect([isMatch('aa', work), work.steps]).toEqual([false, 73])
})
