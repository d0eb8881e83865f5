import fc from 'fast-check'
import { settle } from '../fixtures/settle.ts'
import { bearer } from '../fixtures/keys.ts'
import { BODIES, type Route, ROUTES } from './routes.ts'
import type { KeyKind, World } from './world.ts'

/** A request that was drawn. */
export interface FuzzRequest {
  readonly method: string
  readonly path: string
  readonly key: KeyKind
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Texts that code may mistake for something else. */
const ODD = fc.oneof(
  fc.constantFrom(
    ...['', ' ', '.', '..', '../..', '%00', '%2e%2e%2f', '%ff', '__proto__', 'constructor', 'toString', '~run_x', '*'],
    ...['eu__x', 'null', 'undefined', 'NaN', '-1', '1e309', '0x1', "' OR 1=1 --", '<script>', '\u202e', '\ud800'],
    'x'.repeat(65),
    'x'.repeat(5000),
  ),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
)

/** Values that code may not expect. */
export const VALUE = fc.oneof(
  { weight: 2, arbitrary: ODD },
  fc.constantFrom<unknown>(null, true, -0, 1e308, -1, 2 ** 53, [], {}, [[]], [null], { a: { a: { a: {} } } }),
  fc.jsonValue({ maxDepth: 4 }),
  fc.integer({ min: 1, max: 200 }).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown),
)

/** Keywords of JSON Schema with values of the right and of the wrong kind. */
const SCHEMA = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>({}, true, false, { $ref: '#' }, { $ref: '#/$defs/a' }, { type: 'object' }),
    fc.record(
      {
        type: fc.oneof(fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'null'), VALUE),
        properties: fc.oneof(fc.dictionary(ODD, tie('schema'), { maxKeys: 3 }), VALUE),
        patternProperties: fc.dictionary(fc.constantFrom('^a', '(a+)+$', '[', '^x-'), tie('schema'), { maxKeys: 2 }),
        additionalProperties: tie('schema'),
        items: tie('schema'),
        anyOf: fc.oneof(fc.array(tie('schema'), { maxLength: 3 }), VALUE),
        allOf: fc.array(tie('schema'), { maxLength: 3 }),
        not: tie('schema'),
        enum: fc.oneof(fc.array(VALUE, { maxLength: 5 }), VALUE),
        const: VALUE,
        pattern: fc.oneof(fc.constantFrom('(a+)+$', '^(a|a)*$', '(?=a)', '[', '\\d{1,1000}'), ODD),
        required: fc.oneof(fc.array(ODD, { maxLength: 3 }), VALUE),
        minLength: VALUE,
        maximum: VALUE,
        uniqueItems: VALUE,
        format: ODD,
        $defs: fc.oneof(fc.record({ a: tie('schema') }), VALUE),
        $ref: ODD,
      },
      { requiredKeys: [] },
    ),
  ),
})).schema

/** Changes members of a JSON value, at any depth: to another value, away, or to one more. */
export function mutated(
  value: unknown,
  draws: readonly (readonly [place: number, change: number, value: unknown])[],
): unknown {
  const copy = structuredClone(value)
  for (const [place, change, round] of draws) {
    // A value that is drawn twice may come to stand in itself.
    const other = structuredClone(round)
    const holders: Record<string, unknown>[] = []
    const visit = (each: unknown): void => {
      if (typeof each !== 'object' || each === null) return
      holders.push(each as Record<string, unknown>)
      Object.values(each).forEach(visit)
    }
    visit(copy)
    const holder = holders[place % Math.max(1, holders.length)]
    if (!holder) return other
    const keys = Object.keys(holder)
    const key = keys[Math.floor(place / 7) % Math.max(1, keys.length)] ?? 'x'
    if (change === 0) Reflect.deleteProperty(holder, key)
    else if (change === 1)
      Object.defineProperty(holder, String(other), {
        value: other,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else Object.defineProperty(holder, key, { value: other, enumerable: true, configurable: true, writable: true })
  }
  return copy
}

const HEADERS = fc.record(
  {
    'content-type': fc.constantFrom(
      'application/json',
      'text/plain',
      'application/json; charset=utf-16',
      'x',
      'multipart/form-data',
    ),
    accept: fc.constantFrom('text/event-stream', 'application/json', '*/*', 'application/json, text/event-stream', 'x'),
    'x-conversation-id': ODD,
    'idempotency-key': ODD,
    'last-event-id': ODD,
    'if-match': ODD,
    'if-none-match': fc.constantFrom('*', 'x'),
    prefer: fc.constantFrom('wait=0', 'wait=1', 'x, wait=1', 'wait=1; x'),
    origin: fc.constantFrom('null', 'https://evil.example', 'x'),
    'mcp-protocol-version': fc.constantFrom('2025-06-18', '2099-01-01', 'x'),
  },
  { requiredKeys: [] },
)

const KEY = fc.constantFrom<KeyKind>('owner', 'owner', 'owner', 'other', 'chat', 'tools:write', 'tools:admin', 'none')

/** Returns requests to the routes of the OpenAPI document, near to what these expect and far from it. */
export function drawnRequests({ targets }: World): fc.Arbitrary<FuzzRequest> {
  const pathOf = ({ path }: Route): fc.Arbitrary<string> => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    const own = { ...targets, name: targets.tool, id: targets.conversation } as Record<string, string>
    const value = (name: string) => fc.oneof({ weight: 3, arbitrary: fc.constant(own[name] ?? 'x') }, ODD)
    const query = fc.option(
      fc.tuple(fc.constantFrom('limit', 'before', 'after', 'query', 'owner', 'format', 'source', 'x'), ODD),
      { freq: 2 },
    )
    return fc.tuple(fc.tuple(...names.map(value)), query).map(([values, pair]) => {
      const filled = names.reduce(
        (text, name, at) => text.replace(`{${name}}`, encodeURIComponent((values[at] ?? '').toWellFormed())),
        path,
      )
      return pair ? `${filled}?${pair[0]}=${encodeURIComponent(pair[1].toWellFormed())}` : filled
    })
  }
  const bodyOf = ({ body, method }: Route): fc.Arbitrary<string | undefined> => {
    if (method === 'GET') return fc.constant(undefined)
    const valid = body === undefined ? {} : BODIES[body]?.(targets)
    const draws = fc.array(fc.tuple(fc.nat(10_000), fc.nat(3), VALUE), { maxLength: 3 })
    const near = draws.map((list) => JSON.stringify(mutated(valid, list)))
    const definition = fc
      .record(
        { description: fc.constant('x'), inputSchema: SCHEMA, outputSchema: SCHEMA, static: VALUE },
        { requiredKeys: ['description', 'inputSchema'] },
      )
      .map((each) => JSON.stringify(each))
    const format = SCHEMA.map((schema) =>
      JSON.stringify({ ...Object(valid), responseFormat: { type: 'json_schema', name: 'x', schema } }),
    )
    const raw = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.constantFrom('', '{', '[]', 'null', '"x"', '{"a":1,"a":2}', '\u0000'),
    )
    return fc.oneof(
      { weight: 6, arbitrary: near },
      { weight: body === 'Definition' ? 8 : 0, arbitrary: definition },
      { weight: 1, arbitrary: format },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: raw },
    )
  }
  return fc.constantFrom(...ROUTES).chain((route) =>
    fc.record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(route.method) },
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH'),
      ),
      path: pathOf(route),
      key: KEY,
      headers: HEADERS,
      body: bodyOf(route),
    }),
  )
}

/** The most CPU time of a request in milliseconds, generous for a machine that has other work. */
const MOST_CPU_MS = 1000

/**
 * Sends a request and returns what is wrong with the answer, if anything: it is a 500, it took too much CPU, or rows
 * were written though it was refused. Requests that no client could send are skipped.
 */
export async function faultOf(
  world: World,
  { method, path, key, headers, body }: FuzzRequest,
  limitsCpu: boolean,
): Promise<string | undefined> {
  let request: Request
  try {
    request = new Request(new URL(path, 'https://edge.example.com'), {
      method,
      headers: {
        // A run may wait behind one that waits for a person.
        prefer: 'wait=1',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
        ...(key !== 'none' && bearer(key)),
      },
      ...(body !== undefined && method !== 'GET' && { body }),
    })
  } catch {
    return undefined
  }
  await quiet(world)
  const before = world.rowsWritten()
  const cpu = process.cpuUsage()
  const response = await world.send(request)
  const text = await textOf(response)
  const { user, system } = process.cpuUsage(cpu)
  const cpuMs = (user + system) / 1000
  const { status } = response
  const requestText = JSON.stringify({ method, path, key, headers, body })
  if (status === 500) return `500 ${text}: ${requestText}`
  if (limitsCpu && cpuMs > MOST_CPU_MS) return `${cpuMs} ms of CPU: ${requestText}`
  await quiet(world)
  const rows = world.rowsWritten() - before
  return status >= 400 && status < 500 && rows > 0 ? `${status} ${text} wrote ${rows} rows: ${requestText}` : undefined
}

/** Returns the text of a response; '' for a stream, which may wait for a person, or end only with its client. */
async function textOf(response: Response): Promise<string> {
  if (!/event-stream/.test(response.headers.get('content-type') ?? '')) return response.text()
  await response.body?.cancel()
  return ''
}

/** Waits until nothing is written any more, as by a run that went on after its answer. */
async function quiet(world: World): Promise<void> {
  for (let rows = -1; rows !== world.rowsWritten();) {
    rows = world.rowsWritten()
    await settle()
  }
}
