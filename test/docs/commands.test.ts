import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findCommand, parse } from '../../src/cli/command/run.ts'
import { variableNames } from '../../src/cli/document/configuration.ts'
import { COMMANDS } from '../../src/cli/table.ts'
import { codingGuide, SINGLE_WORKER } from '../../src/cli/project/coding-guide.ts'
import { type Block, pageOf, pages, ROOT } from './pages.ts'

const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: Record<string, string> }
const { paths } = JSON.parse(readFileSync(`${ROOT}src/http/openapi.txt`, 'utf8')) as { paths: Record<string, object> }

/** Commands of others. Of wrangler: those of the pages, each tried by hand. */
const WRANGLER =
  /^(?:login|deploy --dispatch-namespace|secret put|kv key put|kv namespace create|tail|deployments list)\b/
const OTHERS = new Set(['cd', 'cp', 'git', 'openssl', 'printf', 'sha256sum'])
/** Variables of commands, beside those of an edge. */
const VARIABLES = /^(?:PORT|STATE_DIR|EDGECALL_URL|EDGECALL_KEY|KEY|SECRET_[A-Z]+)$/

/** Returns the commands of a block: one per line, continued lines joined, comments left out. */
function commandsOf({ text }: Pick<Block, 'text'>): string[] {
  const joined = text.replaceAll(/\\\n\s*/g, ' ')
  return (
    joined
      .split('\n')
      .map((line) => line.replace(/(?:^|\s)#.*$/, '').trim())
      .filter((line) => line !== '')
      .flatMap((line) => line.split(/ (?:&&|\|) /))
      // command > file
      .map((line) => line.replace(/ > [\w./-]+$/, ''))
      // KEY=$(command)
      .map((line) => /^[A-Z_]+=\$\((.*)\)$/.exec(line)?.[1] ?? line)
  )
}

/** Returns what is wrong with a command; undefined if it can be run as it stands. */
function faultOf(command: string): string | undefined {
  const [, assignments = '', rest = ''] = /^((?:[A-Z_]+=\S+ )*)(.*)$/.exec(command) ?? []
  const names = [...assignments.matchAll(/([A-Z_]+)=/g)].map(([, name = '']) => name)
  const unknown = names.filter((name) => !variableNames().includes(name) && !VARIABLES.test(name))
  if (unknown.length > 0) return `no variable ${unknown.join(', ')}`
  const [program = '', ...words] = (rest.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) =>
    word.replace(/^(["'])(.*)\1$/, '$2'),
  )
  if (program === 'npm') return faultOfNpm(words)
  if (program === 'npx') return faultOfNpx(words)
  if (program === 'curl') return faultOfCurl(rest)
  return OTHERS.has(program) ? undefined : `unknown program ${program}`
}

function faultOfNpm([verb = '', ...words]: readonly string[]): string | undefined {
  if (['install', 'pack', 'ci', 'create'].includes(verb)) return undefined
  const [name = '', ...rest] = verb === 'run' ? words : [verb, ...words]
  const script = scripts[name]
  if (script === undefined) return `no script ${name}`
  const [, command] = /src\/cli\/main\.ts (.*)$/.exec(script) ?? []
  return command === undefined
    ? undefined
    : faultOfEdgecall([...command.split(' '), ...rest.filter((word) => word !== '--')])
}

function faultOfNpx(args: readonly string[]): string | undefined {
  const [program = '', ...words] = args.filter((word) => !word.startsWith('--package='))
  const line = words.join(' ')
  if (program === 'wrangler') return WRANGLER.test(line) ? undefined : `unlisted command of wrangler: ${line}`
  if (/^vitepress@[\d.]+$/.test(program)) return words.join(' ') === 'build docs' ? undefined : `not tried: ${line}`
  if (program === 'typedoc') return line === '' ? undefined : `not tried: ${line}`
  if (program === 'node' && words[0] === '--test') return undefined
  if (program === 'vitest') return words[1] && !existsSync(join(ROOT, words[1])) ? `no ${words[1]}` : undefined
  if (program === 'edgecall') return faultOfEdgecall(words)
  return line.startsWith('src/cli/main.ts ') ? faultOfEdgecall(words.slice(1)) : `unknown program ${program}`
}

/** Reads a command of `edgecall` as the program does: its name, its arguments and its options. */
function faultOfEdgecall(words: readonly string[]): string | undefined {
  if (words[0] === 'help') return undefined
  const [command, count] = findCommand(COMMANDS, words) ?? []
  if (!command) return `no command ${words[0]}`
  try {
    parse(command, words.slice(count))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A request must go to a route of the OpenAPI document, with a method of it. */
function faultOfCurl(command: string): string | undefined {
  const [, path = ''] = /(?:https?:\/\/[^/\s"']+|\$\w+)(\/[^\s"'?]*)/.exec(command) ?? []
  const method = (
    /-X (\w+)/.exec(command)?.[1] ?? (/ (?:-d|--json|--data\S*) /.test(command) ? 'post' : 'get')
  ).toLowerCase()
  const route = Object.keys(paths).find((each) => new RegExp(`^${each.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  const operations: object = (route && paths[route]) || {}
  return method in operations ? undefined : `no route ${method.toUpperCase()} ${path}`
}

/** What `init` writes for coding agents, as a page. */
const guide = pageOf('AGENTS.md of a project', codingGuide('my-edge', SINGLE_WORKER)['AGENTS.md'] ?? '')
const blocks = [...pages(), guide].flatMap((page) =>
  page.blocks.filter(({ language }) => ['sh', 'bash'].includes(language)),
)

describe('a command in the documentation', () => {
  test.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))('at %s exists', (_place, block) => {
    const faults = commandsOf(block).map((command) => [command, faultOf(command)])
    expect(faults.filter(([, fault]) => fault !== undefined)).toEqual([])
  })

  test('within a sentence exists too, on the pages for coding agents', () => {
    const forAgents = [guide, ...pages().filter(({ path }) => /AGENTS|SKILL|coding-agents/.test(path))]
    const commands = forAgents.flatMap(({ text }) => text.match(/(?<=`)(?:npx|npm) [^`\n]+(?=`)/g) ?? [])
    // `<tool>` stands for a name.
    const faults = commands.map((command) => [command, faultOf(command.replaceAll(/[<>]/g, ''))])
    expect(commands.length).toBeGreaterThan(15)
    expect(faults.filter(([, fault]) => fault !== undefined)).toEqual([])
  })

  test.each([
    ['npm run deplyo', 'no script deplyo'],
    ['npx edgecall fly', 'no command fly'],
    ['MAX_STEP=1 npm start', 'no variable MAX_STEP'],
    ['curl http://127.0.0.1:8787/v2/chat -d {}', 'no route POST /v2/chat'],
    ['curl -X DELETE http://127.0.0.1:8787/tools', 'no route DELETE /tools'],
    ['rm -rf node_modules', 'unknown program rm'],
  ])('that does not exist is reported: %s', (command, fault) => {
    expect(commandsOf({ text: command }).map(faultOf)).toEqual([fault])
  })

  test.each(['npm run deploy -- --dry-rum', 'npx edgecall import openapi', 'npx edgecall types --out'])(
    'that `edgecall` refuses is reported: %s',
    (command) => {
      expect(commandsOf({ text: command }).map(faultOf)).toEqual([expect.stringMatching(/dry-rum|<file>|--out/)])
    },
  )
})
