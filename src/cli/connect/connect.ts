import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isObject } from '../../contract/json.ts'
import type { Terminal } from '../command/terminal.ts'
import { type EdgeAddress, refusal, send } from '../edge.ts'
import { Failure } from '../failure.ts'
import { readTextFile } from '../text-file.ts'
import {
  type Application,
  APPLICATIONS,
  type Connection,
  type FileSetting,
  KEY_VARIABLE,
} from '../../contract/applications.ts'
import { lineDiff } from './line-diff.ts'
import { mergeInto } from './merge.ts'
import { nearestName } from './nearest-name.ts'

export interface ConnectOptions {
  /** The folder of the project. */
  readonly root: string
  /** Provides HOME. */
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** Returns the edge. Throws a Failure if none is named. */
  readonly edge: () => EdgeAddress
  /** The name of the application. Default: all are listed. */
  readonly name?: string | undefined
  /** Default: the first that the edge lists. */
  readonly model?: string | undefined
  /** Whether the application gets the tools of the edge by MCP, and keeps its own model. */
  readonly tools: boolean
  /** Whether the files are written. */
  readonly write: boolean
}

/**
 * Prints what an application needs for an edge, and with `write` sets it in its files. A key is written nowhere: what is
 * set names the variable EDGECALL_KEY. Throws a Failure, before anything is written, for an unknown application, one that
 * cannot be connected in this way, or a file that cannot be added to.
 */
export async function connect(options: ConnectOptions): Promise<void> {
  const { terminal, name, tools, write } = options
  if (name === undefined) return listApplications(terminal)
  const application = applicationOf(name)
  const connection = await connectionOf(name, application, options)
  const { files = [], variables = {}, code, note } = connection
  const changes = write ? files.map((file) => changeOf(file, options)) : []
  for (const { place, after } of changes) {
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, after)
  }
  const start = tools ? undefined : application.start
  terminal.emit({ application: name, files, variables, code, note, start })
  for (const { path, content } of write ? [] : files) terminal.print(`${path}\n${mergeInto(path, '', content)}\n`)
  for (const change of changes) terminal.print(changeText(change))
  const exports = Object.entries(variables).map(([variable, value]) => `export ${variable}=${value}\n`)
  if (exports.length > 0) terminal.print(`In the shell that starts it:\n${exports.join('')}\n`)
  if (code !== undefined) terminal.print(`${code}\n`)
  if (note !== undefined) terminal.print(`${note}\n`)
  const isSet = (options.env[KEY_VARIABLE] ?? '') !== ''
  terminal.print(
    `The key: ${KEY_VARIABLE} ${isSet ? 'is set in this shell; set it' : 'must be set'} where ${application.title} runs.\n`,
  )
  if (start !== undefined) terminal.print(`Start it: ${start}\n`)
  if (!write && files.length > 0) terminal.print('Nothing was written: --write puts it into the files.\n')
}

/** Lists the applications, as `edgecall connect` does without a name. */
function listApplications(terminal: Terminal): void {
  const all: [string, Application][] = Object.entries(APPLICATIONS)
  const width = Math.max(...all.map(([name]) => name.length))
  for (const [name, { title, speaks, model, tools }] of all) {
    terminal.emit({ name, title, speaks, model: model !== undefined, tools: tools !== undefined })
    const ways = [...(model ? [speaks ?? 'by hand'] : []), ...(tools ? ['MCP (--tools)'] : [])]
    terminal.print(`${name.padEnd(width)}  ${title}: ${ways.join(', ')}\n`)
  }
}

function applicationOf(name: string): Application {
  const entry = Object.entries(APPLICATIONS).find(([each]) => each === name)
  if (entry) return entry[1]
  const nearest = nearestName(name, Object.keys(APPLICATIONS))
  throw new Failure(
    `No application is called "${name}" here.`,
    nearest === undefined ? `There are: ${Object.keys(APPLICATIONS).join(', ')}` : `Did you mean ${nearest}?`,
  )
}

async function connectionOf(
  name: string,
  { title, tools: ofTools, model: ofModel }: Application,
  options: ConnectOptions,
): Promise<Connection> {
  const { tools, signal } = options
  if (tools) {
    if (!ofTools)
      throw new Failure(`${title} has no place for an MCP server.`, `Leave out --tools: the edge offers its tools.`)
    return ofTools({ url: options.edge().url })
  }
  if (!ofModel)
    throw new Failure(`${title} asks no model but its own.`, `Give it the tools of the edge: connect ${name} --tools`)
  const edge = options.edge()
  return ofModel({ url: edge.url, model: options.model ?? (await firstModel(edge, signal)) })
}

/** The model that an edge lists first: that of its `MODEL`. */
async function firstModel(edge: EdgeAddress, signal: AbortSignal): Promise<string> {
  const response = await send(edge, { method: 'GET', path: '/v1/models' }, signal)
  if (!response.ok) throw await refusal('The models of the edge cannot be listed', response)
  const list: unknown = await response.json()
  const [first] = isObject(list) && Array.isArray(list['data']) ? list['data'] : []
  if (isObject(first) && typeof first['id'] === 'string') return first['id']
  throw new Failure(`${edge.url} lists no model.`, 'Name one: --model provider/name')
}

/** What is written into a file. */
interface Change {
  /** As the table has it. */
  readonly path: string
  /** The path of the file itself. */
  readonly place: string
  readonly before: string
  readonly after: string
}

function changeOf({ path, content }: FileSetting, { root, env }: ConnectOptions): Change {
  const place = path.startsWith('~/') ? join(env['HOME'] ?? homedir(), path.slice(2)) : resolve(root, path)
  try {
    const before = existsSync(place) ? readTextFile(place) : ''
    return { path, place, before, after: mergeInto(path, before, content) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure(
      `${path} was not written: ${reason}.`,
      `Add this to it yourself:\n${mergeInto(path, '', content)}`,
    )
  }
}

function changeText({ path, before, after }: Change): string {
  if (before === after) return `${path} has it already\n`
  return `${path}\n${lineDiff(before, after)
    .map((line) => `${line}\n`)
    .join('')}\n`
}
