import { createReadStream, existsSync, renameSync, statSync } from 'node:fs'
import { appendFile, truncate, writeFile } from 'node:fs/promises'
import { MOST_PART_BYTES } from '../contract/backup.ts'
import { isObject } from '../contract/json.ts'
import { messageOf } from '../contract/thrown.ts'
import { pause } from '../contract/time-limit.ts'
import { copyParts, placeOfPart } from '../wire/client/copy-parts.ts'
import type { Terminal } from './command/terminal.ts'
import { type EdgeAddress, refusal, send } from './edge.ts'
import { Failure } from './failure.ts'

/** A conversation, and the file of its copy. */
export interface CopyFile {
  readonly edge: EdgeAddress
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly id: string
  readonly file: string
}

/** How often a request is sent again that the network has failed, or a copy begun again whose conversation has changed. */
const MOST_TRIES = 5
const FIRST_PAUSE_MS = 200
/** A copy that broke off longer ago is begun again, since it would show the conversation as it stood then. */
const FRESH_MS = 60 * 60 * 1000
/** How many bytes are sent or received between two lines of progress. */
const REPORT_BYTES = 20_000_000

/**
 * Copies a conversation into a file, part by part. The file is there only once it is complete; until then its parts are in
 * `<file>.part`, with which the command continues within an hour. Throws a Failure if the edge refuses.
 */
export async function copyToFile(copy: CopyFile): Promise<void> {
  const { edge, signal, id, file } = copy
  const partial = `${file}.part`
  let { bytes, next } = await copiedParts(partial)
  if (bytes > 0) {
    await truncate(partial, bytes)
    copy.terminal.print(`${id}: continues after ${megabytes(bytes)}\n`)
  }
  const progress = new Progress(copy, bytes)
  for (let tries = 0; ;) {
    const query = next === undefined ? '' : `?after=${encodeURIComponent(next)}`
    const answer = await send(edge, { method: 'GET', path: `${pathOf(id)}${query}` }, signal)
    if (answer.status === 409 && next !== undefined && tries++ < MOST_TRIES) {
      copy.terminal.print(`${id}: was changed meanwhile, so its copy begins again\n`)
      next = undefined
      bytes = 0
      continue
    }
    if (!answer.ok) throw await refusal(`The conversation ${id} was not copied`, answer)
    if (bytes === 0) await writeFile(partial, '')
    let fault = 'it broke off'
    try {
      for await (const part of copyParts(answer.body ?? new Blob().stream(), LONGEST)) {
        const place = placeOfPart(part)
        if (!place) break
        await appendFile(partial, part)
        bytes += part.byteLength
        next = place.next
        tries = 0
        progress.report(bytes)
        if (next === undefined) return renameSync(partial, file)
      }
    } catch (error) {
      signal.throwIfAborted()
      fault = messageOf(error)
    }
    if (++tries > MOST_TRIES)
      throw new Failure(`The conversation ${id} was not copied: ${fault}.`, 'Run it again to continue.')
    await pause(FIRST_PAUSE_MS * 2 ** (tries - 1))
  }
}

const LONGEST = {
  most: MOST_PART_BYTES,
  tooLong: () => new Failure('A part of a copy has more than 30 MiB.', 'Copy the conversation again.'),
}

/** Returns what a file has of a copy: the bytes of its complete parts, and where the next part begins. */
async function copiedParts(file: string): Promise<{ bytes: number; next: string | undefined }> {
  let [bytes, next]: [number, string | undefined] = [0, undefined]
  if (!existsSync(file) || Date.now() - statSync(file).mtimeMs > FRESH_MS) return { bytes, next }
  for await (const part of copyParts(createReadStream(file), LONGEST)) {
    const place = placeOfPart(part)
    if (!place) break
    bytes += part.byteLength
    next = place.next
  }
  // Without a place, nothing continues with it.
  return next === undefined ? { bytes: 0, next } : { bytes, next }
}

/**
 * Makes a conversation of the copy in a file, part by part. Continues with the parts that are left if the edge has some of
 * them. Returns whether it was created, and whether this edge has signed the copy. Throws a Failure if the edge refuses.
 */
export async function restoreFromFile(
  copy: CopyFile,
): Promise<{ readonly isPresent: boolean; readonly isSigned: boolean }> {
  const { id, file } = copy
  const progress = new Progress(copy, 0)
  let [bytes, restored] = [0, 0]
  for await (const part of copyParts(createReadStream(file), LONGEST)) {
    bytes += part.byteLength
    if ((placeOfPart(part)?.part ?? Infinity) <= restored) continue
    const answer = await sendPart(copy, part)
    const reply: unknown = answer.ok ? await answer.json() : undefined
    const { code } = answer.status === 409 ? codeOf(await answer.clone().text()) : { code: '' }
    if (code === 'conversation_exists') return { isPresent: true, isSigned: false }
    if (!answer.ok) throw await refusal(`The conversation ${id} was not created`, answer)
    const { part: last, signed } = isObject(reply) ? reply : {}
    if (last === undefined) return { isPresent: false, isSigned: signed === true }
    restored = Number(last)
    progress.report(bytes, statSync(file).size)
  }
  throw new Failure(`The conversation ${id} was not created: ${file} has not all parts of its copy.`, 'Copy it again.')
}

function codeOf(text: string): { readonly code: unknown } {
  try {
    const body: unknown = JSON.parse(text)
    return { code: isObject(body) ? body['code'] : '' }
  } catch {
    return { code: '' }
  }
}

/** Sends a part. The same part may be sent again, so that is done if the network fails or the edge is busy. */
async function sendPart({ edge, signal, id }: CopyFile, bytes: Uint8Array<ArrayBuffer>): Promise<Response> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await send(edge, { method: 'PUT', path: pathOf(id), bytes }, signal)
      if (answer.status !== 503 || tries > MOST_TRIES) return answer
      await answer.body?.cancel()
    } catch (error) {
      signal.throwIfAborted()
      if (tries > MOST_TRIES) throw error
    }
    await pause(FIRST_PAUSE_MS * 2 ** (tries - 1))
  }
}

/** Tells people how far a long copy has come. */
class Progress {
  readonly #copy: CopyFile
  #reported: number

  constructor(copy: CopyFile, bytes: number) {
    this.#copy = copy
    this.#reported = bytes
  }

  /** `total`: all bytes, if that is known. */
  report(bytes: number, total?: number): void {
    if (bytes - this.#reported < REPORT_BYTES) return
    this.#reported = bytes
    const { terminal, id } = this.#copy
    terminal.print(`${id}: ${megabytes(bytes)}${total === undefined ? '' : ` of ${megabytes(total)}`}\n`)
  }
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1e6)} MB`
}

/** Returns the path of a conversation's copy at an edge. */
export function pathOf(id: string): string {
  return `/backups/${encodeURIComponent(id)}`
}
