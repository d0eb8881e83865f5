import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { filesUnder } from './fixtures/source-files.ts'

/** Participles and adverbs that say nothing as a whole name: a value is named after what it is. */
const BARE = new Set(
  (
    'accepted again answered asked asking begun bound brought called drawn found given gone granted heard held kept ' +
    'known late launched left listed made meant named over owed passed past pinned refused said seen sent shown spent ' +
    'spoken taken there told tried untold whole wholes wished'
  ).split(' '),
)

/** Bare names that are allowed, by file, each with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/contract/definition.ts held': 'RPC method of the definitions Worker, which is deployed by itself',
  'src/contract/definition.ts kept': 'reply of the definitions Worker, which is deployed by itself',
  'src/contract/found-tools.ts found': 'field of messages that the codecs of all providers read',
  'src/contract/message.ts found': 'field of messages that the codecs of all providers read',
  'src/contract/run.ts late': 'field of call records',
  'src/conversation/store/messages.ts late': 'field of call records',
  'src/stored.ts held': 'RPC method of the definitions Worker, which is deployed by itself',
  'src/definitions/definition.ts kept': 'reply of the definitions Worker, which is deployed by itself',
  'src/definitions/service.ts held': 'RPC method of the definitions Worker, which is deployed by itself',
  'src/definitions/service.ts kept': 'reply of the definitions Worker, which is deployed by itself',
  'src/model/provider-tools.ts found': 'field of messages that the codecs of all providers read',
  'src/search/search-tool.ts found': 'field of messages that the codecs of all providers read',
  'src/tool/once.ts kept': 'column of the table `once`',
  'src/wire/provider/anthropic/codec.ts found': 'field of messages that the codecs of all providers read',
  'src/wire/provider/openai-responses/request.ts found': 'field of messages that the codecs of all providers read',
  'src/http/surfaces/tools/tools.ts accepted': 'field of the listing of tools',
  'src/host/source/approved-definitions.ts accepted': 'field of the log entry `tool.held`',
  'src/cli/env-file.ts given': 'word of a message',
  'src/definitions/http/definition.ts listed': 'word of a message',
  'src/definitions/http/definition.ts sent': 'word of a message',
  'src/host/worker/call.ts found': 'word of a regular expression',
  'src/cli/document/answers.ts late': 'field of call records',
  'src/cli/document/answers.ts accepted': 'field of the listing of tools',
  'src/cli/listing.ts accepted': 'field of the listing of tools',
  'src/cli/ready.ts accepted': 'field of the listing of tools',
  'src/cli/document/errors/requests.ts refused': 'error code',
  'src/http/problem.ts refused': 'error code',
  'src/cli/project/add.ts bound': 'key of what `edgecall add --json` prints',
  'src/studio/tool/catalogue.ts accepted': 'field of the listing of tools',
  'src/studio/tool/held.tsx accepted': 'field of the listing of tools',
  'src/studio/run/chart.tsx left': 'CSS property',
  'src/studio/run/timeline.ts left': 'CSS property',
  'tools/calculator/parse.ts left': 'the left operand',
  'tools/offline/vocabulary.ts made': 'a word in a pattern',
  'tools/offline/when.ts past': 'a word in a pattern',
}

const COMMENT_OR_TEXT = /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
/** Texts between the elements of JSX. */
const JSX_TEXT = /(?<!=)[>}][^<>{}=;]*</g
const NAME = /(?<![.\w$])#?[A-Za-z_$][\w$]*/g
const DECLARED = /\b(?:const|let|function\*?|class|interface|type) ([A-Za-z_$][\w$]*)/g
const EXPORT = /^export (?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm

function filesOf(folder: string, pattern = /(?<!\.test)\.tsx?$/): string[] {
  return filesUnder(folder).filter((file) => pattern.test(file))
}

/** Returns the names in a source text that are bare, apart from comments, texts and members after a dot. */
function bareNames(source: string): string[] {
  const names = source.replaceAll(COMMENT_OR_TEXT, "''").replaceAll(JSX_TEXT, '><').match(NAME) ?? []
  return [...new Set(names)].filter((name) => BARE.has(name.replace('#', '').toLowerCase()))
}

/** Returns the bare names that a source text declares: variables, functions, classes and types. */
function bareDeclarations(source: string): string[] {
  const declarations = source.replaceAll(COMMENT_OR_TEXT, "''").matchAll(DECLARED)
  return Array.from(declarations, ([, name = '']) => name).filter((name) => BARE.has(name.toLowerCase()))
}

/** Constructions that make a reader stop, each with what to write instead. */
const RIDDLES: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\banew\b/i, '“again”, or a verb such as “restart”'],
  [/\bwhoever\b/i, 'the person: “the caller”, “anyone who”'],
  [/\b(?:go|goes|going|went) on\b/i, '“continue”'],
  [/(?<!\b(?:there|here) )\b(?:is|was) no (?!longer\b|more\b|such\b|one\b)[a-z]+/i, '“is not a”'],
  [/(?<!\bthere )\b(?:is|are|was|were) none (?!of\b)\w/i, 'what it is not'],
  [/\b(?:can|cannot|could) be had\b/i, '“available”'],
  [/\blets? go of\b/i, '“release”, “end” or “evict”'],
  [/\bof (?:before|now)\b/i, '“earlier”, “current”'],
  [/\b(?:heard|thought) of before\b/i, '“unknown”, “new”'],
  [/(?:^|[.:] )Nor (?:is|are|does|do|has|can|may)\b/m, 'a sentence that begins with its subject'],
]

/** The titles of tests in a source text. */
const TITLE =
  /\b(?:test|describe)[\w.]*(?:\([^()\n]*\))?\(\s*('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)/g

/** Returns the constructions in a text that make a reader stop, each as it stands there. */
function riddlesIn(text: string): string[] {
  return RIDDLES.flatMap(([pattern, instead]) => {
    const [match] = pattern.exec(text) ?? []
    return match === undefined ? [] : [`${match.trim()} → ${instead}`]
  })
}

function linesOf(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  return file.endsWith('.test.ts') ? [...source.matchAll(TITLE)].map(([, title = '']) => title) : source.split('\n')
}

describe('texts', () => {
  test.each([
    ['The run goes on whoever leaves.', 2],
    ['The list is read anew.', 1],
    ['A text that is no URL is refused.', 1],
    ['The run continues if the client disconnects.', 0],
    ['There is no such tool, and no tool is on offer any longer.', 0],
  ])('are searched for riddles: %s', (text, count) => {
    expect(riddlesIn(text)).toHaveLength(count)
  })

  test('are plain in comments, errors, documents and the names of tests', () => {
    const folders = ['src', 'tools', 'docs', 'examples', 'test']
    const files = folders
      .flatMap(filesUnder)
      .filter((file) => !/web\/corpus|words\.test/.test(file))
      .filter((file) => (file.startsWith('test/') ? /\.test\.ts$/ : /\.(?:tsx?|md|json)$|openapi\.txt$/).test(file))
    const riddles = ['README.md', 'CONTRIBUTING.md', ...files].flatMap((file) =>
      linesOf(file).flatMap((line, index) => riddlesIn(line).map((riddle) => `${file}:${index + 1} ${riddle}`)),
    )
    expect(riddles).toEqual([])
  })
})

describe('names', () => {
  test.each([
    ['const kept = 1', ['kept']],
    ['interface Asked { readonly told?: string }', ['Asked', 'told']],
    ["/* said */ read('kept', `told`, keptRows, table.held) // given", []],
    ['class A { #owed = 0 }', ['#owed']],
    ['return <p title={told}>What was asked</p>', ['told']],
  ])('are found bare where a source declares them: %s', (source, names) => {
    expect(bareNames(source)).toEqual(names)
  })

  test('are nouns or verbs, not bare participles', () => {
    const bare = [...filesOf('src'), ...filesOf('tools')].flatMap((file) =>
      bareNames(readFileSync(file, 'utf8')).map((name) => `${file} ${name}`),
    )
    expect(bare.filter((name) => !Object.hasOwn(ALLOWED, name))).toEqual([])
    expect(bare.length).toBeGreaterThan(0)
  })

  test('are nouns or verbs where tests declare them', () => {
    expect(
      bareDeclarations("const sent = 1; function told() {} // const kept\nread({ asked: '' }); let names"),
    ).toEqual(['sent', 'told'])
    const bare = [...filesOf('test', /\.tsx?$/), ...filesOf('tools', /\.test\.ts$/)].flatMap((file) =>
      bareDeclarations(readFileSync(file, 'utf8')).map((name) => `${file} ${name}`),
    )
    expect(bare).toEqual([])
  })

  test.each(['src', ...readdirSync('tools').map((name) => `tools/${name}`)])(
    'are exported by one file of %s each',
    (folder) => {
      const files = filesOf(folder).map((file) => readFileSync(file, 'utf8').replaceAll(COMMENT_OR_TEXT, "''"))
      // Overloads repeat a name within one file.
      const names = files.flatMap((source) => [...new Set([...source.matchAll(EXPORT)].map(([, name = '']) => name))])
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    },
  )
})
