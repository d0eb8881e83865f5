import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Failure } from '../failure.ts'
import { parseConfig } from './config-file.ts'
import { appendToArray } from './jsonc.ts'
import { readTextFile } from '../text-file.ts'

export interface ServiceBinding {
  readonly binding: string
  readonly service: string
}

/**
 * Adds a service binding to a configuration of wrangler, in TOML or JSONC. All other text stays as it is, comments
 * too. Throws a Failure if the binding is taken, or if the file is laid out in a way that cannot be added to.
 */
export function bindService(root: string, path: string, added: ServiceBinding): void {
  const text = readTextFile(join(root, path))
  const { services = [], ...rest } = parseConfig(path, text)
  const list: readonly unknown[] = Array.isArray(services) ? services : []
  const isTaken = list.some((service) => Object(service)['binding'] === added.binding)
  if (isTaken) throw new Failure(`${path} has a binding ${added.binding} already.`)
  const next = path.endsWith('.toml') ? appendStanza(text, added) : appendToArray(text, 'services', added)
  if (!isDeepStrictEqual(asPlain(path, next), { ...plain(rest), services: [...plain(list), added] })) {
    throw new Failure(`The binding could not be written into ${path}.`, `Write it yourself: ${stanza(added)}`)
  }
  writeFileSync(join(root, path), next)
}

/** What a trigger needs in the configuration: an item of an array, at the top or in a table. */
export interface TriggerBinding {
  /** Such as `queues.consumers`. */
  readonly array: string
  readonly item: Readonly<Record<string, string>> | string
}

/**
 * Adds what a trigger needs to a configuration in TOML, at its end, unless it is there. Returns whether it is there now:
 * other formats, and a list of crons, are left to the author.
 */
export function bindTrigger(root: string, path: string, { array, item }: TriggerBinding): boolean {
  const text = readTextFile(join(root, path))
  const config = parseConfig(path, text)
  const [table = '', member] = array.split('.')
  const list: unknown = member === undefined ? config[table] : Object(config[table])[member]
  if (Array.isArray(list) && list.some((each) => isDeepStrictEqual(plain(each), item))) return true
  if (!path.endsWith('.toml') || (typeof item === 'string' && config[table] !== undefined)) return false
  const lines =
    typeof item === 'string'
      ? [`[${table}]`, `${member} = [${JSON.stringify(item)}]`]
      : [`[[${array}]]`, ...Object.entries(item).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)]
  writeFileSync(join(root, path), `${text.trimEnd()}\n\n${lines.join('\n')}\n`)
  return true
}

function asPlain(path: string, text: string): unknown {
  try {
    return plain(parseConfig(path, text))
  } catch {
    return undefined
  }
}

/** Makes plain objects of what the TOML parser returns, for comparing. */
function plain<Value>(value: Value): Value {
  return structuredClone(value)
}

/** Adds a stanza after the last one of the services, or at the end of the file. */
function appendStanza(text: string, added: ServiceBinding): string {
  const headers = [...text.matchAll(/^[ \t]*\[\[?[^\]\n]+\]\]?/gm)]
  const last = headers.findLastIndex(([header]) => /^\s*\[\[?\s*services\s*[\].]/.test(header))
  const next = last === -1 ? undefined : headers[last + 1]?.index
  if (next === undefined) return `${text.trimEnd()}\n\n${stanza(added)}`
  // Comments above the next stanza belong to it.
  const before = text.slice(0, next).replace(/\n(?:[ \t]*(?:#[^\n]*)?\n)+$/, '\n')
  return `${before}\n${stanza(added)}${text.slice(before.length)}`
}

function stanza({ binding, service }: ServiceBinding): string {
  return `[[services]]\nbinding = "${binding}"\nservice = "${service}"\n`
}
