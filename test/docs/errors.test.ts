import { expect, test } from 'vitest'
import { errorTexts } from '../../src/cli/document/errors/page.ts'
import { errorCodesOf, httpErrorsOf, sources } from './error-codes.ts'

const texts = errorTexts()

test('src/cli/document/errors has a text for every error code in src, and for no other', () => {
  const codes = sources().flatMap(({ text, path }) => errorCodesOf(path, text))
  // `http_429` and `http_5` are the codes of statuses.
  const unique = new Set(codes.map((code) => (/^http_\d/.test(code) ? 'http_<status>' : code)))
  expect([...unique].sort(), 'a new literal that is no error code belongs in NO_CODES').toEqual(
    Object.keys(texts).sort(),
  )
})

test('the statuses on the pages of errors are those that the code answers', () => {
  const codes = sources().flatMap(({ text }) => httpErrorsOf(text))
  expect(codes.length).toBeGreaterThan(40)
  // These codes have several statuses; their texts say so.
  const several = new Set(['invalid_request', 'tool_changed', 'unknown_tool', 'call_already_answered'])
  const wrong = codes.filter(({ code, status }) => !several.has(code) && texts[code]?.status !== status)
  expect(wrong).toEqual([])
})

test('error codes are found wherever src makes an error', () => {
  const code = `
    throw new Problem({ status: 418, code: 'teapot', message })
    return refuse('too_hot', 'It is too hot.')
    const code = cold ? 'too_cold' : 'lukewarm'
    // failure('in_a_comment')
  `
  expect([...new Set(errorCodesOf('src/http/tea.ts', code))].sort()).toEqual([
    'lukewarm',
    'teapot',
    'too_cold',
    'too_hot',
  ])
  expect(httpErrorsOf(code)).toEqual([{ status: 418, code: 'teapot' }])
})
