import { globSync, readFileSync } from 'node:fs'
import { type Block, ROOT } from './pages.ts'

/** The folder `src`, from the file of an example. */
const SRC = '../../../../src'

/** What examples use beside the exports of the doors and of their own file: what a reader has at hand. */
const AT_HAND: Readonly<Record<string, string>> = {
  env: "import type { Env as EdgeEnv } from 'edgecall'; declare const env: EdgeEnv & { AI: Ai; KEYS: KVNamespace }",
  v: "import * as v from 'valibot'",
  expect: "import { expect } from 'vitest'",
  OpenAI: "import OpenAI from 'openai'",
  createOpenAI: "import { createOpenAI } from '@ai-sdk/openai'",
  DurableObject: "import { DurableObject } from 'cloudflare:workers'",
  Env: "import type { Env } from 'edgecall'",
  signal: 'declare const signal: AbortSignal',
  url: 'declare const url: string',
  embed: 'declare const embed: (texts: readonly string[]) => Promise<number[][]>',
  hook: atHand('hook', 'Hook', 'contract/hook'),
  model: atHand('model', 'ChatModel', 'contract/model'),
  models: atHand('models', 'ModelChooser', 'contract/setup'),
  messages: atHand('messages', 'Message', 'contract/message', '[]'),
  tool: atHand('tool', 'DefinedTool', 'tool/define'),
  tools: atHand('tools', 'Tool', 'contract/tool', '[]'),
  context: atHand('context', 'RunContext', 'tool/run-context'),
}

/** Declares a value of a type that a file of `src` exports. */
function atHand(name: string, type: string, path: string, suffix = ''): string {
  return `import type { ${type} as Of_${name} } from '${SRC}/${path}.ts'; declare const ${name}: Of_${name}${suffix}`
}

/** Returns the `@example` blocks of all files of `src`, with the imports that each needs. */
export function examples(): Block[] {
  const doors = globSync('src/*.ts', { cwd: ROOT }).filter((path) => !/index\.ts|\.d\.ts/.test(path))
  const ofDoors = doors.toSorted().map((path) => {
    const from = path.replace('src/', 'edgecall/').replace(/(\/edge)?\.ts$/, '')
    const text = read(path)
    const lists = [...text.matchAll(/^export \* from '\.\/(.*)'/gm)].map(([, file]) => read(`src/${file}`))
    return { from, names: exportsOf([text, ...lists].join('\n')) }
  })
  return globSync('src/**/*.{ts,tsx}', { cwd: ROOT })
    .toSorted()
    .flatMap((page) => {
      const text = read(page)
      const own = { from: `${SRC}/${page.slice('src/'.length)}`, names: exportsOf(text) }
      return [...text.matchAll(EXAMPLE)].map((match) => {
        const { first = '', rest = '' } = match.groups ?? {}
        const lines = rest.split('\n').map((line) => line.replace(/^ *\* ?/, ''))
        const code = [first.trim(), ...lines].join('\n').trim()
        const line = text.slice(0, match.index).split('\n').length + (first.trim() === '' ? 1 : 0)
        return { page, line, language: 'ts', kind: '', text: `${code}\n`, given: importsFor(code, [...ofDoors, own]) }
      })
    })
}

const EXAMPLE = /^ *\* @example\b(?<first>.*)\n(?<rest>(?: *\*(?!\/| @).*\n)*)/gm

interface Exports {
  readonly from: string
  /** The exported names, each with whether it is a type. */
  readonly names: ReadonlyMap<string, boolean>
}

/** Returns the declarations of the names that an example uses and does not declare. */
function importsFor(code: string, sources: readonly Exports[]): string {
  const patterns = [...code.matchAll(/\b(?:const|let|class|function|import) ([^=(]*?)(?: =| of|\(| from| extends)/g)]
  // In a pattern, the name after the colon is declared; elsewhere a type follows it.
  const declared = patterns
    .map(([, pattern = '']) => pattern.replaceAll(/^[{[]/.test(pattern) ? /\w+:/g : /:.*/g, ''))
    .join(' ')
  const text = code.replaceAll(/'[^'\n]*'|\/\/.*/g, '')
  const names = new Set([...text.matchAll(/(?<![\w#]|(?<!\.\.)\.)[A-Za-z]\w*/g)].map(([name]) => name))
  return [...names]
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(declared))
    .map((name) => {
      const source = sources.find(({ names: exported }) => exported.has(name))
      if (!source) return AT_HAND[name] ?? ''
      return `import ${source.names.get(name) ? 'type ' : ''}{ ${name} } from '${source.from}'`
    })
    .filter((line) => line !== '')
    .join('; ')
}

/** Returns the names that a file exports. */
function exportsOf(text: string): ReadonlyMap<string, boolean> {
  const names = new Map<string, boolean>()
  for (const [, isType, list = ''] of text.matchAll(/^export (type )?\{([^}]*)\}/gm)) {
    for (const [, type, name = ''] of list.matchAll(/(type )?(?:\w+ as )?(\w+)(?=,|\s*$)/g)) {
      names.set(name, Boolean(isType ?? type))
    }
  }
  const declarations = /^export (?:async )?(const|function\*?|class|interface|type) (\w+)/gm
  for (const [, kind = '', name = ''] of text.matchAll(declarations)) names.set(name, /interface|type/.test(kind))
  return names
}

function read(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8')
}
