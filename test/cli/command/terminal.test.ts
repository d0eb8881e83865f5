import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runCommand } from '../../../src/cli/command/run.ts'
import { processTerminal } from '../../../src/cli/command/terminal.ts'
import { COMMANDS } from '../../../src/cli/table.ts'

const CLI = new URL('../../../src/cli/', import.meta.url).pathname

test('nothing but terminal.ts writes to the terminal', () => {
  const files = readdirSync(CLI, { recursive: true, encoding: 'utf8' })
    // What only this repository runs, on its own documents.
    .filter((file) => file.endsWith('.ts') && !file.startsWith('document/') && file !== 'command/terminal.ts')
  const writes = /\bstd(?:out|err)\.write\b|\bconsole\.|\.pipe\(process\.|\bwriteSync\((?:1|2)\b/
  const outputs = (file: string) => readFileSync(join(CLI, file), 'utf8').replace(/`console\.\w+`/g, '')
  expect(files.filter((file) => writes.test(outputs(file)))).toEqual([])
  expect(files.length).toBeGreaterThan(60)
})

/** Moves the cursor, sets a title, turns text around, and hides some. */
const HOSTILE = 'a\u001b[2Jb\u001b]0;title\u0007c\u202ed\u2066e\u200bf\u009b1mg\rh\u00adi\u{e0041}j\u3164k'
// oxlint-disable-next-line no-control-regex
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u202e\u2066\u3164\u{e0041}]/u

/** Collects what is written to stdout and stderr. */
function outputOf(): () => string {
  let out = ''
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, 'write').mockImplementation((text) => {
      out += String(text)
      return true
    })
    onTestFinished(() => spy.mockRestore())
  }
  return () => out
}

test('text for people, and JSON for programs, shows as escapes what would hide or turn text', () => {
  const output = outputOf()
  processTerminal({ isJson: false }).print(`${HOSTILE}\n\ttext 👨‍👩‍👧 می‌خواهم\n`)
  expect(output()).toBe(
    String.raw`a\u001b[2Jb\u001b]0;title\u0007c\u202ed\u2066e\u200bf\u009b1mg\u000dh\u00adi\udb40\udc41j\u3164k` +
      '\n\ttext 👨‍👩‍👧 می‌خواهم\n',
  )
  processTerminal({ isJson: true }).emit({ text: HOSTILE })
  const [, json = ''] = output().split('می‌خواهم\n')
  expect(JSON.parse(json)).toEqual({ text: HOSTILE })
  expect(json.trim()).not.toMatch(RAW)
})

const FIELDS =
  'id name tenant tool status code message detail reason question answer run conversation model key scopes created expires next ' +
  'last due cron zone time at by title description place source origin type program url path remedy because error text hash ' +
  'version created started finished state note errors runs items entries data messages schedules approvals input arguments'
const hostileEntry = (value: unknown) => Object.fromEntries(FIELDS.split(/\s+/).map((name) => [name, value]))
const entry = {
  ...hostileEntry(HOSTILE),
  ...{ scopes: [HOSTILE], expires: 1, created: 1, next: 1, at: 1, arguments: { text: HOSTILE }, input: HOSTILE },
}
const problem = { ...entry, status: 409, error: { code: HOSTILE, message: HOSTILE } }

/** The answers of a hostile edge: a list, one thing, a problem, and what is not JSON. */
const ANSWERS: Readonly<Record<string, readonly [status: number, body: string]>> = {
  'a list': [200, JSON.stringify([entry])],
  'one thing': [200, JSON.stringify(entry)],
  'a problem': [409, JSON.stringify(problem)],
  text: [500, HOSTILE],
  events: [200, `event: x\ndata: ${JSON.stringify({ type: 'run.finished', ...entry })}\n\n`],
}

/** The words that a command is called with: a file or a folder where it takes one. */
function wordsFor(name: string, args: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'edgecall-hostile-'))
  const file = join(folder, 'one.json')
  writeFileSync(
    file,
    JSON.stringify({ question: 'What?', calls: [], name: 'one', description: HOSTILE, static: { text: '' } }),
  )
  const words: Readonly<Record<string, string>> = { file, folder, time: '2026-02-28T14:30:00Z', payload: '{}' }
  return [...name.split(' '), ...args.map((arg) => words[arg] ?? 'one'), ...(name === 'keys new' ? ['--stored'] : [])]
}

/** Those that speak to an edge, but for `doctor`, which waits for one to become well. */
const AT_EDGES = COMMANDS.filter(({ name, options }) => 'url' in options && name !== 'doctor')

describe.each(AT_EDGES.map((command) => [command.name, Object.keys(command.arguments)] as const))(
  'the command %s',
  (name, args) => {
    test.each(Object.entries(ANSWERS))(
      'prints nothing raw of an edge that answers with %s',
      async (_, [status, body]) => {
        const server = createServer((_request, response) => {
          const type = body.startsWith('event:') ? 'text/event-stream' : 'application/json'
          response.writeHead(status, { 'content-type': type }).end(body)
        }).listen(0, '127.0.0.1')
        await once(server, 'listening')
        onTestFinished(() => void server.close())
        vi.stubEnv('EDGECALL_KEY', 'ek_1')
        onTestFinished(() => void vi.unstubAllEnvs())
        const output = outputOf()
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const words = [...wordsFor(name, args), '--url', url]
        // A defect that is thrown is printed by main.ts, as an escape too.
        await runCommand(COMMANDS, words).catch(() => {})
        expect(output()).not.toMatch(RAW)
      },
    )
  },
)
