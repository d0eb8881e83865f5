import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ID } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { Terminal } from './command/terminal.ts'
import { copyToFile, pathOf, restoreFromFile } from './copy-file.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'
import { Failure } from './failure.ts'

export interface BackupOptions {
  readonly edge: EdgeAddress
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** The folder of the copies. */
  readonly folder: string
  /** The one conversation to copy. Default: all of the key's tenant. */
  readonly conversation?: string | undefined
}

export interface RewindOptions extends Pick<BackupOptions, 'edge' | 'terminal' | 'signal'> {
  readonly conversation: string
  /** A time that `Date.parse` reads. */
  readonly time: string
}

const ENDING = '.jsonl'

/**
 * Copies conversations of an edge into a folder, each into a file of its own. A file is there only once it is complete, so
 * that the command can be repeated. Throws a Failure if the edge refuses one.
 */
export async function backUp({ edge, terminal, signal, folder, conversation }: BackupOptions) {
  mkdirSync(folder, { recursive: true })
  let count = 0
  for await (const id of conversation === undefined ? conversationsOf(edge, signal) : [conversation]) {
    // The id is a part of the file's name, and the edge could have named any.
    if (!ID.test(id)) throw new Failure(`${JSON.stringify(id)} is not the id of a conversation, so it was not copied.`)
    const file = join(folder, `${id}${ENDING}`)
    await copyToFile({ edge, terminal, signal, id, file })
    terminal.print(`${file}\n`)
    count += 1
  }
  terminal.print(`${count === 1 ? '1 conversation' : `${count} conversations`} copied to ${folder}\n`)
  terminal.emit({ conversations: count, folder })
}

/**
 * Makes the conversations of the copies in a folder. Those that the edge has already are left as they are. Throws a
 * Failure if the edge refuses another.
 */
export async function restore({ edge, terminal, signal, folder, conversation }: BackupOptions) {
  const files = copiesIn(folder, conversation)
  let [createdCount, presentCount] = [0, 0]
  for (const file of files) {
    const id = file.slice(0, -ENDING.length)
    const { isPresent, isSigned } = await restoreFromFile({ edge, terminal, signal, id, file: join(folder, file) })
    const created = isSigned ? 'created' : 'created as your own, since this edge has not signed the copy'
    terminal.print(`${id}: ${isPresent ? 'is there already' : created}\n`)
    if (isPresent) presentCount += 1
    else createdCount += 1
  }
  terminal.emit({ created: createdCount, present: presentCount })
}

/** Takes a conversation back to a time. Throws a Failure if the edge refuses. */
export async function rewind({ edge, terminal, signal, conversation, time }: RewindOptions): Promise<void> {
  const answer = await send(
    edge,
    { method: 'POST', path: `${pathOf(conversation)}/rewind`, body: { at: time } },
    signal,
  )
  if (!answer.ok) throw await refusal(`The conversation ${conversation} was not taken back`, answer)
  const reply: unknown = await answer.json()
  terminal.print(`${conversation}: taken back to ${isObject(reply) ? String(reply['at']) : time}\n`)
  terminal.emit(reply)
}

/** Returns the files with copies in a folder, or that of one conversation. Throws a Failure if there are none. */
function copiesIn(folder: string, conversation: string | undefined): readonly string[] {
  if (!existsSync(folder)) {
    throw new Failure(`There is no folder ${folder}.`, 'Name the folder that edgecall backup has written.')
  }
  const isWanted = (file: string) =>
    conversation === undefined ? file.endsWith(ENDING) : file === conversation + ENDING
  const files = readdirSync(folder).filter(isWanted)
  if (files.length === 0) throw new Failure(`There are no copies (${conversation ?? '*'}${ENDING}) in ${folder}.`)
  return files.toSorted()
}

async function* conversationsOf(edge: EdgeAddress, signal: AbortSignal): AsyncGenerator<string> {
  for (let after = ''; ;) {
    const path = `/conversations?limit=1000&after=${encodeURIComponent(after)}`
    const answer = await send(edge, { method: 'GET', path }, signal)
    if (!answer.ok) throw await refusal('The conversations were not listed', answer)
    const page: unknown = await answer.json()
    const ids = Array.isArray(page) ? page.flatMap((each) => (isObject(each) ? [String(each['id'])] : [])) : []
    yield* ids
    const last = ids.at(-1)
    if (last === undefined) return
    after = last
  }
}
