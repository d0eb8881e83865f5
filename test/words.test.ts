import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

/** Participles and adverbs that say nothing as a whole name: a value is named after what it is. */
const BARE = new Set(
  (
    'accepted again asked asking begun bound found given gone granted heard held kept known late launched left listed ' +
    'made meant named over owed past pinned said seen sent shown spoken taken there told untold whole wholes wished'
  ).split(' '),
)

/** Bare names that are allowed, by file, each with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/contract/definition.ts held': 'RPC method of the definitions Worker, which is deployed by itself',
  'src/contract/definition.ts kept': 'reply of the definitions Worker, which is deployed by itself',
  'src/contract/message.ts found': 'field of messages that the codecs of all providers read',
  'src/contract/run.ts late': 'field of call records',
  'src/conversation/store/full-results.ts late': 'field of call records',
  'src/stored.ts held': 'RPC method of the definitions Worker, which is deployed by itself',
  'src/definitions/record.ts kept': 'reply of the definitions Worker, which is deployed by itself',
  'src/definitions/service.ts held': 'RPC method of the definitions Worker, which is deployed by itself',
  'src/definitions/service.ts kept': 'reply of the definitions Worker, which is deployed by itself',
  'src/search/search-tool.ts found': 'field of messages that the codecs of all providers read',
  'src/tool/once.ts kept': 'column of the table `once`',
  'src/wire/provider/anthropic/ask-messages.ts found': 'field of messages that the codecs of all providers read',
  'src/wire/provider/anthropic/ask-request.ts found': 'field of messages that the codecs of all providers read',
  'src/wire/provider/openai-responses/ask-search.ts found': 'field of messages that the codecs of all providers read',
  'src/http/surfaces/tools/tools.ts accepted': 'field of the listing of tools',
  'src/host/source/approved-definitions.ts accepted': 'field of the log entry `tool.held`',
  'src/definitions/http/definition.ts listed': 'word of a message',
  'src/definitions/http/definition.ts sent': 'word of a message',
  'src/host/worker/call.ts found': 'word of a regular expression',
  'tools/calculator/parse.ts left': 'the left operand',
  'tools/offline/vocabulary.ts made': 'a word in a pattern',
  'tools/offline/when.ts past': 'a word in a pattern',
}

/** The rooms and Workers whose names this test checks. Still to be done: `cli` and the studio. */
const CLEAN =
  /^(?:src\/(?:\w+\.ts|(?:catalogue|client|contract|conversation|definitions|edge|host|http|loop|model|observe|schema|search|testing|tool|wire)\/)|tools\/)/

/** Names that two files of src export on purpose: wrangler.toml names these classes, whichever door is deployed. */
const DOORS = ['Catalog', 'Conversation']

/** Names that more than one file of src still exports. Give each a noun of its own and delete it here; add none. */
const SHARED = new Set(['ask', 'argumentsOf', 'Route', 'text'])

const COMMENT_OR_TEXT = /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
const NAME = /(?<![.\w$])#?[A-Za-z_$][\w$]*/g
const EXPORT = /^export (?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test)\.ts$/.test(file) && !/node_modules|\.wrangler/.test(file))
    .map((file) => join(folder, file))
}

/** Returns the names in a source text that are bare, apart from comments, texts and members after a dot. */
function bareNames(source: string): string[] {
  const names = source.replaceAll(COMMENT_OR_TEXT, "''").match(NAME) ?? []
  return [...new Set(names)].filter((name) => BARE.has(name.replace('#', '').toLowerCase()))
}

describe('names', () => {
  test.each([
    ['const kept = 1', ['kept']],
    ['interface Asked { readonly told?: string }', ['Asked', 'told']],
    ["/* said */ read('kept', `told`, keptRows, table.held) // given", []],
    ['class A { #owed = 0 }', ['#owed']],
  ])('are found bare where a source declares them: %s', (source, names) => {
    expect(bareNames(source)).toEqual(names)
  })

  test('are nouns or verbs, not bare participles', () => {
    const bare = [...filesOf('src'), ...filesOf('tools')]
      .filter((file) => CLEAN.test(file))
      .flatMap((file) => bareNames(readFileSync(file, 'utf8')).map((name) => `${file} ${name}`))
    expect(bare.filter((name) => !Object.hasOwn(ALLOWED, name))).toEqual([])
    expect(bare.length).toBeGreaterThan(0)
  })

  test('are exported by one file of src each', () => {
    const files = new Map<string, number>()
    // The studio is an app of its own, whose names are still to be told apart from those of the other rooms.
    for (const file of filesOf('src').filter((path) => !path.startsWith('src/studio/'))) {
      const names = new Set([...readFileSync(file, 'utf8').matchAll(EXPORT)].map(([, name = '']) => name))
      for (const name of names) files.set(name, (files.get(name) ?? 0) + 1)
    }
    const shared = [...files].flatMap(([name, count]) => (count > 1 ? [name] : []))
    expect(shared.filter((name) => !SHARED.has(name) && !DOORS.includes(name))).toEqual([])
  })
})
