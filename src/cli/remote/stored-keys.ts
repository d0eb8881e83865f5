import { isObject } from '../../contract/json.ts'
import type { Terminal } from '../command/terminal.ts'
import { type EdgeAddress, type EdgeRequest, refusal, send } from '../edge.ts'
import { Failure } from '../failure.ts'

/** The edge whose stored keys are changed, by a key with the scope `keys`. */
export interface StoredKeyOptions {
  readonly edge: EdgeAddress
  readonly terminal: Terminal
}

export interface StoredKeyTerms {
  readonly id: string
  readonly tenant?: string | undefined
  readonly scopes?: readonly string[]
  readonly expires?: string | undefined
}

/** Makes a key at the edge, and prints it: the edge stores only its hash. */
export async function newStoredKey(
  { id, tenant = 'default', scopes = [], expires }: StoredKeyTerms,
  options: StoredKeyOptions,
): Promise<void> {
  const terms = { id, tenant, ...(scopes.length > 0 && { scopes }), ...(expires !== undefined && { expires }) }
  printSecret(await ask(options, 'The key was not made', { method: 'POST', path: '/keys', body: terms }), options)
}

/** Replaces the secret of a stored key. With `keepOld`, the one before works too, until the key is rotated again. */
export async function rotateStoredKey(
  { id, keepOld }: { readonly id: string; readonly keepOld: boolean },
  options: StoredKeyOptions,
): Promise<void> {
  const request = { method: 'POST', path: `${pathOf(id)}/rotate`, body: { keepOld } } as const
  printSecret(await ask(options, `${id} was not rotated`, request), options)
}

/** Disables or enables a stored key. */
export async function switchStoredKey(
  { id, disabled }: { readonly id: string; readonly disabled: boolean },
  options: StoredKeyOptions,
): Promise<void> {
  const request = { method: 'PATCH', path: pathOf(id), body: { disabled } } as const
  options.terminal.emit(await ask(options, `${id} was not changed`, request))
  options.terminal.print(`${id} is ${disabled ? 'disabled' : 'enabled'}; edges know within a minute.\n`)
}

/** Prints all stored keys, one a line. */
export async function listStoredKeys(options: StoredKeyOptions): Promise<void> {
  const { terminal } = options
  let after = ''
  do {
    const page = await ask(options, 'The keys cannot be listed', { method: 'GET', path: `/keys${after}` })
    const keys = Array.isArray(page['keys']) ? page['keys'].filter(isObject) : []
    for (const key of keys) {
      terminal.emit(key)
      terminal.print(`${lineOf(key)}\n`)
    }
    after = typeof page['next'] === 'string' ? `?after=${encodeURIComponent(page['next'])}` : ''
  } while (after !== '')
}

function lineOf({ id, tenant, scopes, expires, disabled }: Readonly<Record<string, unknown>>): string {
  const until = typeof expires === 'number' ? `until ${new Date(expires).toISOString()}` : ''
  const words = [id, tenant, Array.isArray(scopes) ? scopes.join(',') : '', until, disabled === true ? 'disabled' : '']
  return words
    .filter((word) => word !== '')
    .map(String)
    .join('  ')
}

function pathOf(id: string): string {
  return `/keys/${encodeURIComponent(id)}`
}

async function ask(
  { edge }: StoredKeyOptions,
  failure: string,
  request: EdgeRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await send(edge, request)
  if (!response.ok) throw await refusal(failure, response)
  const body: unknown = await response.json()
  if (isObject(body)) return body
  throw new Failure(`${failure}: ${edge.url} does not answer as an edge does.`)
}

function printSecret(answer: Readonly<Record<string, unknown>>, { terminal }: StoredKeyOptions): void {
  terminal.emit(answer)
  terminal.print(`${String(answer['key'])}\n\nThat is the key ${String(answer['id'])}, shown this once.\n`)
}
