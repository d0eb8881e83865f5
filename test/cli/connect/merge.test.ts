import { describe, expect, test } from 'vitest'
import { lineDiff } from '../../../src/cli/connect/line-diff.ts'
import { mergeInto } from '../../../src/cli/connect/merge.ts'
import { nearestName } from '../../../src/cli/connect/nearest-name.ts'

/** Merges, and checks that the same once more changes nothing. */
function merged(path: string, text: string, content: Readonly<Record<string, unknown>>): string {
  const next = mergeInto(path, text, content)
  expect(mergeInto(path, next, content)).toBe(next)
  return next
}

describe('JSON with comments', () => {
  test('keeps comments, layout, trailing commas and what else is there', () => {
    const text = `{
    "theme": "dark", // mine
    "servers": { "other": 1, /* keep */ "edge": { "url": "old" }, }, // trailing
    // last
}
`
    const content = { servers: { edge: { url: 'new', headers: { a: 'b' } } }, models: [{ id: 'm' }] }
    expect(merged('a.json', text, content)).toBe(`{
    "theme": "dark", // mine
    "servers": { "other": 1, /* keep */ "edge": { "url": "new",
            "headers": {
                "a": "b"
            }
        }, }, // trailing
    "models": [
        {
            "id": "m"
        }
    ],
    // last
}
`)
  })

  test('finds an item of a list by its id or name, and adds one that is missing', () => {
    const text = '{\n\t"models": [\n\t\t{ "id": "a", "own": true } // first\n\t]\n}'
    expect(merged('a.jsonc', text, { models: [{ id: 'a', url: 'u' }, { id: 'b' }] })).toBe(`{
	"models": [
		{ "id": "a", "own": true,
			"url": "u"
		}, // first
		{
			"id": "b"
		}
	]
}`)
  })

  test.each([
    ['', '{\n  "a": {\n    "b": 1\n  }\n}\n'],
    ['{}', '{\n  "a": {\n    "b": 1\n  }\n}'],
    ['{\n  // empty\n}\n', '{\n  // empty\n  "a": {\n    "b": 1\n  }\n}\n'],
    ['{"x":1}', '{"x":1,\n  "a": {\n    "b": 1\n  }\n}'],
    ['{\r\n  "a": { }\r\n}\r\n', '{\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}\r\n'],
    ['{ "a": "text, not an object" }', '{ "a": {\n    "b": 1\n  } }'],
    ['{ "a": { "b": 1 } }', '{ "a": { "b": 1 } }'],
    ['{ "b//c": "}{,]", "a": { "b": 2 } }', '{ "b//c": "}{,]", "a": { "b": 1 } }'],
  ])('is added to %j', (text, expected) => {
    expect(merged('a.json', text, { a: { b: 1 } })).toBe(expected)
  })

  test('is refused, if it cannot be read, with the reason', () => {
    expect(() => mergeInto('a.json', '{ "a": ', { b: 1 })).toThrow(SyntaxError)
    expect(() => mergeInto('a.json', '[]', { b: 1 })).toThrow('it does not hold an object')
    expect(() => mergeInto('a.ini', '', { b: 1 })).toThrow('its format is unknown')
  })
})

describe('TOML', () => {
  const content = { model: 'm', providers: { edge: { url: 'u', retries: 2 } } }

  test('keeps comments, and has new values in their tables', () => {
    const text = `# mine
model = "old" # the model

[providers.other]
url = "x"

[providers.edge]
url = 'old'
# a note

[[list]]
n = 1
`
    expect(merged('a.toml', text, { ...content, mcp: { 'x y': { on: true } } })).toBe(`# mine
model = "m" # the model

[providers.other]
url = "x"

[providers.edge]
url = "u"
# a note
retries = 2

[[list]]
n = 1

[mcp."x y"]
on = true
`)
  })

  test('is written where there is none, and above the first table', () => {
    expect(merged('a.toml', '', content)).toBe('model = "m"\n\n[providers.edge]\nurl = "u"\nretries = 2\n')
    expect(merged('a.toml', '[a]\r\nb = 1\r\n', { model: 'm' })).toBe('model = "m"\r\n\r\n[a]\r\nb = 1\r\n')
  })

  test.each([
    'providers = { edge = { url = "x" } }\n',
    'model = """\nold\n"""\n',
    'text = """\n[providers.edge]\n"""\n',
  ])('is left to its author in a layout that cannot be added to: %j', (text) => {
    expect(() => mergeInto('a.toml', text, content)).toThrow('laid out in a way that cannot be added to')
  })
})

test('YAML without comments is added to, and any other is left to its author', () => {
  const content = { models: [{ name: 'a', key: '${{ secrets.X }}' }] }
  expect(merged('a.yaml', 'name: E\n', content)).toBe('name: E\nmodels:\n  - name: a\n    key: ${{ secrets.X }}\n')
  expect(() => mergeInto('a.yaml', 'name: E # mine\n', content)).toThrow('it has comments')
})

test('a difference has the lines that go and come', () => {
  expect(lineDiff('a\nb\nc\nd\n', 'a\nx\nc\nd\ne\n')).toEqual(['- b', '+ x', '+ e'])
  const long = 'of the application\n'.repeat(200_000)
  expect(lineDiff(`${long}a\n${long}`, `${long}b\n${long}`)).toEqual(['- a', '+ b'])
  expect([lineDiff('', 'a\n'), lineDiff('a\n', ''), lineDiff('a\n', 'a')]).toEqual([['+ a'], ['- a'], []])
})

test('a name that somebody may have meant is found by a part of it or by few wrong letters', () => {
  const names = ['claude-code', 'codex', 'opencode', 'pi']
  const words = ['claude', 'CODX', 'open-code', 'opencode-cli', 'zed']
  expect(words.map((word) => nearestName(word, names))).toEqual([
    'claude-code',
    'codex',
    'opencode',
    'opencode',
    undefined,
  ])
})
