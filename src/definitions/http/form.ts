import { isObject } from '../../contract/json.ts'
import { asText } from './template.ts'

/** A body as it is sent, with its content type. */
export interface EncodedBody {
  readonly type: string
  readonly text: string
}

type Field = readonly [name: string, value: string]

/**
 * Encodes an object as the fields of a form. The key of a list is repeated for each item; an object within it becomes
 * `key[inner]`, a list within that `key[inner][]`. A key whose value is null is left out.
 */
export function encodeForm(body: unknown, kind: 'form' | 'multipart'): EncodedBody {
  const fields = Object.entries(isObject(body) ? body : {}).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => fieldsOf(isObject(item) ? `${name}[${index}]` : name, item))
      : fieldsOf(name, value),
  )
  if (kind === 'multipart') return encodeMultipart(fields)
  const search = new URLSearchParams(fields.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]))
  return { type: 'application/x-www-form-urlencoded', text: search.toString() }
}

function fieldsOf(name: string, value: unknown): Field[] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => fieldsOf(`${name}[${isObject(item) ? index : ''}]`, item))
  }
  if (!isObject(value)) return [[name, asText(value)]]
  return Object.entries(value).flatMap(([key, inner]) => fieldsOf(`${name}[${key}]`, inner))
}

/** Encodes fields as HTML does; the boundary is one that is in no field. */
function encodeMultipart(fields: readonly Field[]): EncodedBody {
  let boundary = 'edgecall-form'
  while (fields.some((field) => field.some((text) => text.includes(boundary)))) boundary += '-'
  const parts = fields.map(([name, value]) => {
    const quoted = name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
    return `--${boundary}\r\ncontent-disposition: form-data; name="${quoted}"\r\n\r\n${value}\r\n`
  })
  return { type: `multipart/form-data; boundary=${boundary}`, text: `${parts.join('')}--${boundary}--\r\n` }
}
