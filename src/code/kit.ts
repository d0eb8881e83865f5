/** Everything that a program finds in its global object; what is not named here is removed. */
const GLOBALS = [
  'AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date',
  'DisposableStack Error EvalError Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array',
  'Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set String',
  'SuppressedError Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array',
  'Uint8Array Uint8ClampedArray WeakMap WeakSet atob btoa decodeURI decodeURIComponent encodeURI encodeURIComponent escape',
  'globalThis isFinite isNaN parseFloat parseInt queueMicrotask structuredClone undefined unescape',
].flatMap((line) => line.split(' '))

/** The most characters that a program can print; what it prints beyond is counted. */
const MOST_PRINTED = 32_768

/**
 * The module that runs a program, and the first that is loaded. It takes what it needs itself, removes from the global
 * object all that could differ from one pass to the next, or reach anything, and puts a clock, random numbers and timers of
 * the run in its place.
 *
 * Its host speaks with it in lines of JSON, which are the bodies of one request and its response: so there is no binding
 * and no stub that a program could call, and the abort of the request ends it. It answers a line only when the program can
 * do nothing more without another answer, and releases one answer in each macrotask, so that what a program asks for is a
 * function of the answers and their order alone.
 *
 * Its text is part of the bundle, so the comments are here:
 * - `random32` is sfc32, by Chris Doty-Humphrey: small, and good enough for what is not a secret.
 * - `close`: what the runtime adds to JavaScript is inherited, and leaves with the prototype in one step.
 * - `JSON.parse` makes what tools return: a number that JavaScript cannot hold is a string of its digits.
 * - `ask`, `look`: an error has the line of the program that made the call.
 * - `macrotasks`: a byte through the runtime's own pipe arrives in a macrotask, after all that the program can do by now. A
 *   message of a MessageChannel does not, and a timer takes a millisecond.
 * - `read`: a line may have megabytes, so each piece of it is searched once.
 * - `completion` begins in a microtask, so that a program that throws at once ends as one that throws later.
 */
const KIT = `const { TransformStream, Response, TextEncoder, TextDecoder, IdentityTransformStream, Proxy, Promise, Error, TypeError } = globalThis
const { apply, deleteProperty, ownKeys } = Reflect
const { defineProperty, setPrototypeOf, freeze, fromEntries } = Object
const { stringify, parse } = JSON
const withResolvers = Promise.withResolvers.bind(Promise)
const RealDate = Date
const standard = new Set(${JSON.stringify(GLOBALS)})

let now = 0
let seed = [1, 2, 3, 4]
const asks = []
const lookups = []
const waiting = new Map()
let requests = 0
let looked = 0
const printed = []
let printedSize = 0

const random32 = () => {
  const t = (seed[0] + seed[1] + seed[3]) | 0
  seed[3] = (seed[3] + 1) | 0
  seed[0] = seed[1] ^ (seed[1] >>> 9)
  seed[1] = (seed[2] + (seed[2] << 3)) | 0
  seed[2] = ((seed[2] << 21) | (seed[2] >>> 11)) + t | 0
  return t >>> 0
}
const random = () => (random32() * 2097152 + (random32() >>> 11)) / 9007199254740992

const fixed = (target, name, value) => defineProperty(target, name, { value, writable: false, enumerable: false, configurable: false })

function close() {
  const inherited = { TextDecoder, TextEncoder, URL, URLSearchParams, atob, btoa, queueMicrotask, structuredClone }
  setPrototypeOf(globalThis, Object.prototype)
  for (const name of ownKeys(globalThis)) if (!standard.has(name) && !deleteProperty(globalThis, name)) fixed(globalThis, name)
  for (const name of ownKeys(inherited)) fixed(globalThis, name, inherited[name])
  function ProgramDate(...parts) {
    if (!new.target) return new RealDate(now).toString()
    return parts.length === 0 ? Reflect.construct(RealDate, [now], new.target) : Reflect.construct(RealDate, parts, new.target)
  }
  ProgramDate.prototype = RealDate.prototype
  fixed(ProgramDate, 'now', () => now)
  fixed(ProgramDate, 'parse', RealDate.parse)
  fixed(ProgramDate, 'UTC', RealDate.UTC)
  fixed(RealDate.prototype, 'constructor', ProgramDate)
  fixed(globalThis, 'Date', ProgramDate)
  fixed(Math, 'random', random)
  delete Atomics.waitAsync
  const dates = Intl.DateTimeFormat.prototype
  const { get: formatOf } = Object.getOwnPropertyDescriptor(dates, 'format')
  const { formatToParts } = dates
  const get = function () {
    const format = apply(formatOf, this, [])
    return (date = now) => format(date)
  }
  defineProperty(dates, 'format', { get, configurable: false })
  fixed(dates, 'formatToParts', function (date = now) { return apply(formatToParts, this, [date]) })
}

const decimal = (text) => {
  const [, sign, units, fraction = '', power = 0] = /^(-?)(\\d+)(?:\\.(\\d+))?(?:e(.+))?$/i.exec(text)
  const digits = (units + fraction).replace(/^0+/, '')
  const short = digits.replace(/0+$/, '')
  return short && sign + short + 'e' + (power - fraction.length + digits.length - short.length)
}
const isHeld = (number, text) =>
  isFinite(number) && decimal(String(number)) === decimal(text) && (/[.e]/i.test(text) || BigInt(text) == number)
fixed(JSON, 'parse', (text, reviver) => {
  if (!/[\\d.]{16}|\\de/i.test(text)) return parse(text, reviver)
  return parse(text, function (key, value, context) {
    const { source } = context
    const exact = typeof value === 'number' && source && !isHeld(value, source) ? source : value
    return typeof reviver === 'function' ? apply(reviver, this, [key, exact, context]) : exact
  })
})

const bytesOf = (view) => {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = random32()
  return view
}
const hex = (count) => Array.from({ length: count }, () => (random32() & 15).toString(16)).join('')

function text(value) {
  if (typeof value === 'string') return value
  if (value instanceof Error) return value.stack ?? String(value)
  try { return stringify(value, plain) ?? String(value) } catch { return String(value) }
}
const plain = (key, value) => {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map) return fromEntries(value)
  if (value instanceof Set) return [...value]
  return value
}
const print = (...values) => {
  const line = values.map(text).join(' ')
  if (printedSize < ${MOST_PRINTED}) printed.push(line.slice(0, ${MOST_PRINTED} - printedSize))
  printedSize += line.length + 1
}

function ask(entry) {
  const number = requests++
  const { promise, resolve, reject } = withResolvers()
  waiting.set(number, { resolve, reject, error: entry.tool && new Error() })
  asks.push(entry)
  return promise
}
function look(entry) {
  const { promise, resolve, reject } = withResolvers()
  waiting.set('look ' + looked++, { resolve, reject, error: new Error() })
  lookups.push(entry)
  return promise
}
function call(tool, input) {
  let text
  try { text = stringify(input === undefined ? {} : input, plain) } catch (error) { return Promise.reject(error) }
  if (text === undefined) return Promise.reject(new TypeError('The arguments of ' + tool + ' are not an object'))
  return ask({ do: 'call', tool, arguments: text })
}

const timers = new Map()
let lastTimer = 0
const setTimer = (work, ms = 0, ...values) => {
  if (typeof work !== 'function') throw new TypeError('setTimeout: expected a function')
  const id = ++lastTimer
  timers.set(id, work)
  void ask({ do: 'wait', ms: Math.max(0, Number(ms) || 0) }).then(() => {
    const current = timers.get(id)
    timers.delete(id)
    current?.(...values)
  })
  return id
}

const tools = new Proxy(freeze(Object.create(null)), {
  get: (_, name) => {
    if (typeof name !== 'string' || name === 'then' || name === 'toJSON') return undefined
    if (name === '$describe') return (...names) => look({ do: 'describe', names: names.flat().map(String) })
    if (name === '$search') return (question) => look({ do: 'search', question: String(question) })
    return (input) => call(name, input)
  },
})

function release({ ask: number, at, value, error }) {
  if (at > now) now = at
  const entry = waiting.get(number)
  waiting.delete(number)
  if (!entry) return
  if (!error) return entry.resolve(value)
  const { error: thrown } = entry
  thrown.message = error.message
  thrown.code = error.code
  entry.reject(thrown)
}

function macrotasks() {
  const { readable, writable } = new IdentityTransformStream()
  const [reader, writer, byte] = [readable.getReader(), writable.getWriter(), new Uint8Array(1)]
  return () => {
    const arrival = reader.read()
    void writer.write(byte)
    return arrival
  }
}

export function serve(request, program) {
  const { readable, writable } = new TransformStream()
  void drive(request.body.getReader(), writable.getWriter(), program)
  return new Response(readable)
}

async function drive(reader, writer, program) {
  const encoder = new TextEncoder()
  const decoder = new TextDecoder()
  let pieces = []
  let rest = ''
  const read = async () => {
    for (;;) {
      const end = rest.indexOf('\\n')
      if (end >= 0) {
        const line = pieces.join('') + rest.slice(0, end)
        pieces = []
        rest = rest.slice(end + 1)
        return parse(line)
      }
      pieces.push(rest)
      const { done, value } = await reader.read()
      if (done) return undefined
      rest = decoder.decode(value, { stream: true })
    }
  }
  const macrotask = macrotasks()
  const write = (line) => writer.write(encoder.encode(stringify(line) + '\\n'))
  const first = await read()
  now = first.at
  seed = first.seed
  for (let round = 0; round < 15; round += 1) random32()
  let end
  const completion = Promise.resolve().then(() => program(tools))
  completion.then((value) => (end = ending(value)), (error) => {
    try { end = failing(error) } catch { end = { thrown: { message: 'an error that cannot be read' } } }
  })
  const queue = []
  for (;;) {
    await macrotask()
    if (end) break
    if (lookups.length === 0 && queue.length > 0) {
      release(queue.shift())
      continue
    }
    await write({ asks: asks.splice(0), lookups: lookups.splice(0) })
    const line = await read()
    if (!line) return writer.close()
    queue.unshift(...line.answers)
    queue.push(...line.releases)
    if (queue.length > 0) release(queue.shift())
  }
  await write({ asks: asks.splice(0), end: { ...end, printed, printedSize } })
  await writer.close()
}

function ending(value) {
  if (value === undefined) return {}
  try {
    const json = stringify(value, plain)
    return json === undefined ? { unusable: typeof value } : { json, isText: typeof value === 'string' }
  } catch (error) {
    return { unusable: String(error?.message ?? error) }
  }
}
function failing(error) {
  const isError = error instanceof Error
  const causes = !isError ? [] : error.cause !== undefined ? [error.cause] : Array.isArray(error.errors) ? error.errors : []
  const cause = causes.length > 0 ? causes.map((each) => String(each?.message ?? each)).join('\\n') : undefined
  const code = isError && typeof error.code === 'string' ? error.code : undefined
  return { thrown: { name: isError ? String(error.name) : '', message: isError ? String(error.message) : text(error), stack: isError ? String(error.stack) : '', code, cause } }
}

close()
for (const [name, value] of [['setTimeout', setTimer], ['clearTimeout', (id) => void timers.delete(id)]]) fixed(globalThis, name, value)
fixed(globalThis, 'console', freeze({ log: print, info: print, warn: print, error: print, debug: print }))
fixed(globalThis, 'crypto', freeze({
  randomUUID: () => [hex(8), hex(4), '4' + hex(3), 'a' + hex(3), hex(12)].join('-'),
  getRandomValues: bytesOf,
}))
`

const MAIN = `import { serve } from './kit.js'
import program from './program.js'

export default { fetch: (request) => serve(request, program) }
`

/** The lines of `program.js` before the first of the program. */
export const LINES_BEFORE = 1

/** Returns the modules of the dynamic Worker that runs a program: the body of an async function. */
export function programModules(code: string): Readonly<Record<string, string>> {
  return {
    'main.js': MAIN,
    'kit.js': KIT,
    'program.js': `export default async (tools) => {\n${code}\n}\n`,
  }
}
