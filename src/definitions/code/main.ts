import { SANDBOX } from '../../code/sandbox.ts'

/**
 * The main module of each dynamic Worker, around the definition's own `tool.js`. `GET` answers the type of its default
 * export; `POST { arguments, context }` calls it. Answers are text, so that neither a function nor a stub can come out,
 * and the reader can stop at its limit. Values become JSON as in a tool Worker (`toJson` of `result.ts`).
 */
const MAIN = `import './closed.js'
import * as tool from './tool.js'

const toJson = (key, value) => {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (value instanceof ArrayBuffer) return new Uint8Array(value).toBase64()
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).toBase64()
  const kind = typeof value === 'object' ? Object.prototype.toString.call(value).slice(8, -1) : typeof value
  const isLost = typeof value === 'object' && value && !written.includes(kind) && Object.keys(value).length === 0
  if (kind === 'function' || kind === 'symbol' || isLost) throw new TypeError('a ' + kind + ' at "' + key + '"')
  return value
}
const written = ['Object', 'Array', 'Number', 'String', 'Boolean']

async function answer(request) {
  let value
  try {
    const { arguments: input, context } = await request.json()
    value = await tool.default(input, context)
  } catch (error) {
    return JSON.stringify({ thrown: String(error?.stack ?? error) })
  }
  try {
    return JSON.stringify({ value }, toJson)
  } catch (error) {
    return JSON.stringify({ unserialisable: String(error?.message ?? error) })
  }
}

export default {
  async fetch(request) {
    return new Response(request.method === 'GET' ? typeof tool.default : await answer(request))
  },
}
`

/** Runs before the definition's module, and removes what could outlive an isolate, or be shared among isolates. */
const CLOSED = 'delete globalThis.caches\n'

/** What the dynamic Worker of every stored tool is made of, beside the definition's own module. */
export const FRAME = {
  ...SANDBOX,
  mainModule: 'main.js',
  modules: { ...SANDBOX.modules, 'main.js': MAIN, 'closed.js': CLOSED },
} as const
