import { isDeepStrictEqual } from 'node:util'
import { dump, load } from 'js-yaml'
import { parse as parseToml } from 'smol-toml'
import { isObject } from '../../contract/json.ts'
import { parseJsonc } from '../project/jsonc.ts'
import { mergeJsonText } from './json-text.ts'
import { mergeValues } from './merge-values.ts'
import { mergeTomlText } from './toml-text.ts'

type Content = Readonly<Record<string, unknown>>

/** A format of configuration files. */
interface Format {
  readonly parse: (text: string) => unknown
  /** Returns the text with the content in it. All other text stays as it is. */
  readonly merge: (text: string, content: Content) => string
}

const FORMATS: Readonly<Record<string, Format>> = {
  json: { parse: parseJsonc, merge: mergeJsonText },
  jsonc: { parse: parseJsonc, merge: mergeJsonText },
  toml: { parse: (text) => parseToml(text), merge: mergeTomlText },
  yaml: { parse: (text) => load(text) ?? {}, merge: mergeYamlText },
}

/**
 * Returns the text of a configuration file with the content in it: members are added or replaced, items of arrays are
 * found by their `id` or `name`, and all other text stays, comments too. An empty text stands for a file that is not
 * there. Throws an Error with the reason if the text cannot be read, or is laid out so that it cannot be added to.
 */
export function mergeInto(path: string, text: string, content: Content): string {
  const format = FORMATS[path.slice(path.lastIndexOf('.') + 1)]
  if (!format) throw new Error('its format is unknown')
  const old = text.trim() === '' ? {} : plain(format.parse(text))
  if (!isObject(old)) throw new Error('it does not hold an object')
  const wanted = mergeValues(old, content)
  if (isDeepStrictEqual(old, wanted)) return text
  const next = format.merge(text, content)
  // The editors of text do not know every layout of their format; a wrong result is noticed here.
  if (!isDeepStrictEqual(parsed(format, next), wanted))
    throw new Error('it is laid out in a way that cannot be added to')
  return next
}

/** The whole of a YAML file is written, so that one with comments is left to its author. */
function mergeYamlText(text: string, content: Content): string {
  if (/^\s*#|\s#/m.test(text)) throw new Error('it has comments, which would be lost')
  return dump(mergeValues(text.trim() === '' ? {} : load(text), content), { lineWidth: -1 })
}

function parsed({ parse }: Format, text: string): unknown {
  try {
    return plain(parse(text))
  } catch {
    return undefined
  }
}

/** Makes plain objects of what the TOML parser returns, for comparing. */
function plain<Value>(value: Value): Value {
  return structuredClone(value)
}
