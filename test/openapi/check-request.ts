import { isObject } from '../../src/contract/json.ts'
import { decoded, deref, escaped, type Fields, isLoose, type Operation, type Part, PLACEHOLDER } from './operation.ts'
import {
  pairsOf,
  type Parameter,
  readForm,
  readPlaced,
  readQuery,
  readText,
  type SentRequest,
  Unreadable,
} from './read-request.ts'

const SENT_ALWAYS = new Set(['accept', 'user-agent', 'idempotency-key', 'content-type', 'traceparent'])

interface Reading {
  readonly read: () => unknown
  readonly wanted: unknown
  readonly schema: unknown
}

/** Returns what the request says that differs from the arguments; empty if nothing does. */
export function wrongsOf(operation: Operation, parts: readonly Part[], args: Fields, sent: SentRequest): string[] {
  const wrongs: string[] = []
  const attempt = (what: string, check: () => void) => {
    try {
      check()
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      wrongs.push(`${what}: ${error.message}`)
    }
  }
  const { description = '', summary = '' } = operation.fields
  const compare = (what: string, { read, wanted, schema }: Reading) =>
    attempt(what, () => {
      const value = read()
      if (canonical(value) !== canonical(wanted))
        throw new Unreadable(`read ${canonical(value)}, sent as ${canonical(wanted)}`)
      const fault = value === undefined ? undefined : operation.check(schema, value)
      if (fault !== undefined) throw new Unreadable(`schema: ${fault}`)
    })
  const compareParameter = (part: Part, read: (parameter: Part['parameter'], wanted: unknown) => unknown) => {
    const { parameter } = part
    const { in: place, schema, content, required } = parameter
    const wanted = wantedOf(part)
    const media = Object.values(Object(content))[0]
    compare(`${place} ${styleOf(parameter)}`, {
      read: () => read(parameter, wanted),
      wanted,
      schema: schema ?? Object(media).schema,
    })
    if (required === true && wanted === undefined && part.argument !== undefined)
      wrongs.push(`${place} ${styleOf(parameter)}: ${parameter.name} is required`)
  }
  const wantedOf = ({ argument, keys }: Part) => {
    if (argument !== undefined) return args[argument]
    const entries = Object.entries(keys ?? {})
      .filter(([, each]) => args[each] !== undefined)
      .map(([key, each]) => [key, args[each]])
    return entries.length === 0 ? undefined : Object.fromEntries(entries)
  }
  const path = operation.path.split('#')[0] ?? ''
  /** A part of the path's own query, with the parameters that stand in it. */
  const filled = (text: string) =>
    parts.reduce((result, part) => {
      const value = part.parameter.in === 'path' ? wantedOf(part) : undefined
      return value === undefined
        ? result
        : result.replaceAll(`{${part.parameter.name}}`, () => encodeURIComponent(String(value)))
    }, text)
  const { pathname, search } = sent.url
  attempt('path', () => {
    const placed = readPath(operation, pathname)
    for (const part of parts.filter(({ parameter }) => placed.has(parameter.name) && parameter.in === 'path')) {
      compareParameter(part, (parameter, wanted) => readPlaced(placed.get(parameter.name) ?? '', parameter, wanted))
    }
  })
  attempt('query', () => {
    const pairs = pairsOf(search.slice(1), 'refused')
    for (const [key, text] of pairsOf(path.split('?')[1] ?? '', 'space')) {
      const at = pairs.findIndex(
        ([each, value]) =>
          each === key && decodeURIComponent(value) === decodeURIComponent(text.includes('{') ? filled(text) : text),
      )
      if (at < 0) throw new Unreadable(`${key} of the path is missing`)
      pairs.splice(at, at < 0 ? 0 : 1)
    }
    // An exploded object takes what other parameters leave.
    for (const part of parts
      .filter(({ parameter }) => parameter.in === 'query')
      .toSorted((one, other) => Number(isLoose(one)) - Number(isLoose(other)))) {
      const texts = decoded(JSON.stringify([part.parameter, description, summary]))
      compareParameter(part, (parameter, wanted) => readQuery(pairs, parameter, wanted, texts))
    }
    if (pairs.length > 0) throw new Unreadable(`keys of no parameter: ${pairs.map(([key]) => key).join(', ')}`)
  })
  const names = new Set(
    parts.filter(({ parameter }) => parameter.in === 'header').map(({ parameter }) => parameter.name.toLowerCase()),
  )
  for (const name of Object.keys(sent.headers))
    if (!names.has(name) && !SENT_ALWAYS.has(name)) wrongs.push(`header: ${name} is no parameter`)
  for (const part of parts.filter(({ parameter }) => parameter.in === 'header')) {
    const raw = sent.headers[part.parameter.name.toLowerCase()]
    if (SENT_ALWAYS.has(part.parameter.name.toLowerCase()) && wantedOf(part) === undefined) continue
    compareParameter(part, (parameter, wanted) => (raw === undefined ? undefined : readPlaced(raw, parameter, wanted)))
  }
  attempt('body', () =>
    checkBody(operation, args, sent, (reading) =>
      compare(`body ${sent.headers['content-type']?.split(';')[0]}`, reading),
    ),
  )
  return wrongs
}

const styleOf = ({ style, explode, content }: Parameter) =>
  content
    ? 'content'
    : `${JSON.stringify(style ?? 'default')} ${JSON.stringify(explode ?? 'default')}`.replaceAll('"', '')

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, each: unknown) =>
      isObject(each)
        ? Object.fromEntries(
            Object.entries(each)
              .filter(([, inner]) => inner !== null)
              .toSorted(([one], [other]) => (one < other ? -1 : 1)),
          )
        : each,
    ) ?? 'nothing'
  )
}

function readPath({ document, item, fields, path }: Operation, pathname: string): Map<string, string> {
  const [server] = [fields['servers'], item['servers'], document['servers']].find(Array.isArray) ?? []
  const variables = Object(Object(server).variables)
  const address = String(Object(server).url ?? '/').replace(/\{([^{}]+)\}/g, (_, name: string) =>
    String(Object(variables[name]).default ?? ''),
  )
  const base = new URL(address, 'https://api.example.com').pathname.replace(/\/+$/, '')
  const names: string[] = []
  // Paths begin with a slash, also where a document forgets it.
  const pattern = (path.split(/[?#]/)[0] ?? '').replace(/^(?!\/)/, '/')
  // A URL parser escapes some characters of a path and leaves others.
  const literal = (text: string) =>
    Array.from(text, (each) =>
      /[\w.~-]/.test(each) ? escaped(each) : `(?:${escaped(each)}|${escaped(encodeURIComponent(each))})`,
    ).join('')
  let source = escaped(base)
  let end = 0
  for (const { 0: placeholder, 1: name = '', index } of pattern.matchAll(/\{([^{}]+)\}/g)) {
    source += `${literal(pattern.slice(end, index))}([^/]*?)`
    names.push(name)
    end = index + placeholder.length
  }
  const match = new RegExp(`^${source}${literal(pattern.slice(end))}$`).exec(pathname)
  if (!match) throw new Unreadable(`${pathname} is not ${base}${path}`)
  return new Map(names.map((name, index) => [name, match[index + 1] ?? '']))
}

function checkBody(
  { document, fields, definition, method }: Operation,
  args: Fields,
  sent: SentRequest,
  compare: (reading: Reading) => void,
): void {
  const requestBody = deref(document, fields['requestBody'])
  const content = Object(requestBody['content'])
  const encoding = Object.assign({}, ...Object.values(content).map((media) => Object(media).encoding))
  const { body: template } = definition.http
  const wanted =
    typeof template === 'string'
      ? args[template.slice(1, -1)]
      : template === undefined
        ? undefined
        : Object.fromEntries(
            Object.entries(Object(template)).flatMap(([key, text]) => {
              const value = args[[...String(text).matchAll(PLACEHOLDER)][0]?.[1] ?? '']
              const field = Object.hasOwn(encoding, key.replace(/\[\]$/, '')) ? key.replace(/\[\]$/, '') : key
              return value === undefined ? [] : [[field, value]]
            }),
          )
  if (sent.body === undefined) {
    if (requestBody['required'] === true && Object.keys(content).length > 0 && method !== 'get')
      throw new Unreadable('there is none, and it is required')
    if (wanted !== undefined) throw new Unreadable('there is none')
    return
  }
  const { 'content-type': type = '' } = sent.headers
  const plain = (each: string) => each.split(/[;,]/)[0]?.trim().toLowerCase() ?? ''
  const declared =
    Object.keys(content).find((each) => plain(each) === plain(type)) ??
    Object.keys(content).find((each) => /\*/.test(each))
  if (declared === undefined) throw new Unreadable(`${type} is none of ${Object.keys(content).join(', ')}`)
  const { schema, encoding: own } = Object(content[declared])
  const isJson = /json/.test(type)
  compare({
    read: () => (isJson ? readText(sent.body ?? '', {}) : readForm(sent, own, Object(wanted))),
    wanted,
    schema,
  })
}
