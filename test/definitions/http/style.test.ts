import { describe, expect, test } from 'vitest'
import { callHttp } from '../../../src/definitions/http/call.ts'
import { parseStored } from '../../../src/definitions/definition.ts'
import { CONTROL, toolRequest } from '../../host/source/calls.ts'

const origin = 'https://api.example.com'

function definition(http: object) {
  return parseStored({
    name: 't',
    description: 'A test.',
    inputSchema: { type: 'object', properties: { color: {}, other: {} }, required: ['color'] },
    http: { method: 'GET', url: `${origin}/x`, ...http },
  })
}

/** What is sent of a request with this value: its URL without the origin, and a header. */
async function requestFor(http: object, color: unknown): Promise<string> {
  const parsed = definition(http)
  if (!parsed.ok || !('http' in parsed.stored)) throw new Error(JSON.stringify(parsed))
  let request = ''
  const fetch = async (url: string, { headers }: RequestInit) => {
    request = url.slice(origin.length) + (new Headers(headers).get('x-color') ?? '')
    return new Response(null, { status: 204 })
  }
  const call = callHttp('t', parsed.stored.http, { hosts: { [origin]: [] }, secret: () => undefined, fetch })
  const outcome = await call(toolRequest('t', { color }), CONTROL)
  return outcome.ok ? request : outcome.error.message
}

const LIST = ['blue', 'black', 'brown']
const OBJECT = { R: 100, G: 200, B: 150 }

describe('a value is written as the table “Style Examples” of OpenAPI 3.1.1 has it, or as JSON:', () => {
  test.each<[style: string, explode: boolean, empty: string, text: string, list: string, object: string]>([
    ['matrix', false, ';color', ';color=blue', ';color=blue,black,brown', ';color=R,100,G,200,B,150'],
    ['matrix', true, ';color', ';color=blue', ';color=blue;color=black;color=brown', ';R=100;G=200;B=150'],
    ['label', false, '.', '.blue', '.blue,black,brown', '.R,100,G,200,B,150'],
    ['label', true, '.', '.blue', '.blue.black.brown', '.R=100.G=200.B=150'],
    ['simple', false, '', 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
    ['simple', true, '', 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
    ['form', false, 'color=', 'color=blue', 'color=blue,black,brown', 'color=R,100,G,200,B,150'],
    ['form', true, 'color=', 'color=blue', 'color=blue&color=black&color=brown', 'R=100&G=200&B=150'],
    [
      'spaceDelimited',
      false,
      'color=',
      'color=blue',
      'color=blue%20black%20brown',
      'color=R%20100%20G%20200%20B%20150',
    ],
    ['pipeDelimited', false, 'color=', 'color=blue', 'color=blue%7Cblack%7Cbrown', 'color=R%7C100%7CG%7C200%7CB%7C150'],
    [
      'deepObject',
      true,
      'color=',
      'color=blue',
      'color%5B%5D=blue&color%5B%5D=black&color%5B%5D=brown',
      'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150',
    ],
    [
      'json',
      false,
      'color=%22%22',
      'color=%22blue%22',
      'color=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D',
      'color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D',
    ],
  ])('%s, explode %s', async (style, explode, ...expected) => {
    const isQuery = !['matrix', 'label', 'simple'].includes(style)
    const styles = { color: { style, explode } }
    const http = isQuery ? { query: { color: '{color}' }, styles } : { url: `${origin}/x{color}`, styles }
    for (const [index, value] of ['', 'blue', LIST, OBJECT].entries()) {
      expect(await requestFor(http, value)).toBe(`/x${isQuery ? '?' : ''}${expected[index]}`)
      if (style !== 'simple') continue
      expect(await requestFor({ headers: { 'X-Color': '{color}' }, styles }, value)).toBe(`/x${expected[index]}`)
    }
  })

  test('nested values in the notations of servers', async () => {
    const value = {
      tags: ['a b', 'c,d'],
      on: true,
      none: null,
      items: [{ id: 1, of: ['x'] }, { id: 2 }],
      at: { gte: 5 },
    }
    const write = async (lists?: string) => {
      const styles = { color: { style: 'deepObject', ...(lists && { lists }) } }
      return decodeURIComponent(await requestFor({ query: { color: '{color}' }, styles }, value))
        .split(/[?&]/)
        .slice(1)
    }
    const rest = (of: string) => [
      'color[on]=true',
      'color[items][0][id]=1',
      of,
      'color[items][1][id]=2',
      'color[at][gte]=5',
    ]
    expect(await write()).toEqual(['color[tags][]=a b', 'color[tags][]=c,d', ...rest('color[items][0][of][]=x')])
    expect(await write('indices')).toEqual([
      'color[tags][0]=a b',
      'color[tags][1]=c,d',
      ...rest('color[items][0][of][0]=x'),
    ])
    expect(await write('repeated')).toEqual(['color[tags]=a b', 'color[tags]=c,d', ...rest('color[items][0][of]=x')])
    expect(await write('commas')).toEqual(['color[tags]=a b,c,d', ...rest('color[items][0][of]=x')])
  })

  test('with what is reserved encoded within a value, and not between values', async () => {
    const value = ['a,b', 'c d', 'e;f/g', '100%']
    expect(await requestFor({ query: { $filter: '{color|,}' } }, value)).toBe('/x?$filter=a%2Cb,c%20d,e%3Bf%2Fg,100%25')
    expect(await requestFor({ url: `${origin}/x/{color|,}` }, value)).toBe('/x/a%2Cb,c%20d,e%3Bf%2Fg,100%25')
    expect(await requestFor({ query: { q: '{color||}' } }, value)).toBe('/x?q=a%2Cb%7Cc%20d%7Ce%3Bf%2Fg%7C100%25')
    expect(await requestFor({ query: { $filter: "Name eq '{color}'" } }, 'A & B+')).toBe(
      '/x?$filter=Name%20eq%20%27A%20%26%20B%2B%27',
    )
  })

  test('and never leads out of its path', async () => {
    const refusal = 'Expected one name or number for the path of the request, received "color" = '
    const styles = { color: { style: 'label' } }
    expect(await requestFor({ url: `${origin}/{color}`, styles }, '.')).toContain(refusal)
    expect(await requestFor({ url: `${origin}/{color}`, styles: { color: { style: 'simple' } } }, [])).toContain(
      refusal,
    )
    expect(await requestFor({ url: `${origin}/a/{color}`, styles: { color: { style: 'matrix' } } }, '/../b')).toBe(
      '/a/;color=%2F..%2Fb',
    )
    expect(await requestFor({ url: `${origin}/{color}` }, OBJECT)).toContain(refusal)
    const asJson = { styles: { color: { style: 'json' } } }
    expect(await requestFor({ url: `${origin}/{color}`, ...asJson }, { a: '/..' })).toBe('/%7B%22a%22%3A%22%2F..%22%7D')
    expect(await requestFor({ headers: { 'X-Color': '{color}' }, ...asJson }, LIST)).toBe('/x["blue","black","brown"]')
  })
})

test.each<[string, object, string]>([
  ['in the path', { query: { a: '{color}' }, styles: { color: { style: 'label' } } }, '{color} by itself in the path'],
  [
    'in the path or a header',
    { query: { a: '{color}' }, styles: { color: { style: 'simple' } } },
    '{color} by itself in the path or a header',
  ],
  [
    'alone in the query or a form',
    { query: { a: 'x{color}' }, styles: { color: { style: 'form' } } },
    '{color} by itself in the query or a form',
  ],
])('a style is refused where its argument is not %s', (_, http, expected) => {
  expect(definition(http)).toEqual({
    ok: false,
    issues: [{ path: 'http.styles.color', message: `expected ${expected}` }],
  })
})
