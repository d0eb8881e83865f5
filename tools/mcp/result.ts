import { content, ToolError, withMetadata } from 'edgecall/tool'
import { askFor } from './elicit.ts'
import { fieldsOf, isObject, textOf } from './json.ts'

type Part = string | { readonly type: 'image' | 'file'; readonly mediaType: string; readonly data: string }

/**
 * Converts a server's result to a tool's result: the structured value if there is one, else the content parts, with the
 * server's own members of `_meta` as metadata. Throws a ToolError with the server's text for an error result, and an
 * InputRequired for a result that asks for input.
 */
export function readResult(result: Readonly<Record<string, unknown>>): unknown {
  const { content: items, structuredContent, isError, resultType = 'complete' } = result
  if (resultType === 'input_required') askFor(result)
  if (resultType !== 'complete') throw new ToolError('The server answered in a way that is not known here.')
  const parts = (Array.isArray(items) ? items : []).map(toPart)
  if (isError === true) {
    const text = parts.filter((part) => typeof part === 'string').join('\n')
    throw new ToolError(text.trim() === '' ? 'The tool failed without giving a reason.' : text)
  }
  const value = valueOf(parts, structuredContent)
  const metadata = Object.entries(fieldsOf(result['_meta'])).filter(([key]) => !RESERVED.test(key))
  return metadata.length > 0 ? withMetadata(value, Object.fromEntries(metadata)) : value
}

/** The keys of `_meta` that belong to the protocol: `progressToken`, and prefixes such as `io.modelcontextprotocol/`. */
const RESERVED = /^(?:progressToken$|(?:[\w-]+\.)*(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*\/)/

function valueOf(parts: readonly Part[], structuredContent: unknown): unknown {
  // Some servers write null for an absent value.
  if (structuredContent === undefined || structuredContent === null)
    return parts.length === 0 ? structuredContent : content(...parts)
  const files = parts.filter((part) => typeof part !== 'string')
  if (files.length === 0) return structuredContent
  const text = JSON.stringify(structuredContent)
  // To a model, the data of a file is text without a meaning.
  return files.some(({ data }) => text.includes(data)) ? content(...parts) : content(text, ...files)
}

function toPart(item: unknown): Part {
  const { type, text, data, mimeType, resource, uri, name, title, description } = fieldsOf(item)
  if (type === 'text' && typeof text === 'string') return text
  // A `blob` is not in the specification, but what the official filesystem server sends.
  if (FILES.has(type) && typeof data === 'string') return toFile(data, mimeType)
  if (type === 'resource_link') {
    return [textOf(title) || textOf(name), textOf(uri), textOf(description)].filter((each) => each !== '').join('\n')
  }
  if (type === 'resource' && isObject(resource)) {
    if (typeof resource['text'] === 'string') return resource['text']
    if (typeof resource['blob'] === 'string') return toFile(resource['blob'], resource['mimeType'])
  }
  return `[${textOf(type) || 'something'} that cannot be shown]`
}

const FILES: ReadonlySet<unknown> = new Set(['image', 'audio', 'blob'])

function toFile(data: string, mimeType: unknown): Part {
  const mediaType = textOf(mimeType) || 'application/octet-stream'
  return { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data }
}
