import { readExactly } from '../../../contract/exact-numbers.ts'
import type { ModelEvent } from '../../../contract/model.ts'
import { fieldsOf, objectsOf, textAt } from '../../fields.ts'
import type { Fields } from '../model-answer.ts'
import { providerEvent, sourcesIn } from '../provider-call.ts'

/** The results of tools that Anthropic runs, by their types. */
const RESULT = /^(web_search|web_fetch|(?:bash_|text_editor_)?code_execution|tool_search)_tool_result$/

/** The names of the tools that search other tools. */
const SEARCH = /^tool_search_tool_/

/** Whether a block is the use of a tool that Anthropic runs, or its result. These go back as they came. */
export function isServerBlock({ type }: Fields): boolean {
  return type === 'server_tool_use' || isServerResult(type)
}

/** Whether a block is the use of the search of tools, or its result. */
export function isSearchBlock({ type, name }: Fields): boolean {
  return type === 'tool_search_tool_result' || (type === 'server_tool_use' && SEARCH.test(String(name)))
}

export function isServerResult(type: unknown): boolean {
  return typeof type === 'string' && RESULT.test(type)
}

/** Returns a tool in the form of this format. Its name is that of its type, without the version: no other is accepted. */
export function toServerTool(form: Fields): Fields {
  return { name: textAt(form, 'type').replace(/_\d+$/, ''), ...form }
}

/** Returns the use of a tool with its input, which comes in fragments, as one text. */
export function wholeUse(use: Fields, text: string): Fields {
  return text === '' ? use : { ...use, input: readExactly(text) ?? {} }
}

/** Makes the event of a use with this result. An earlier request may have had the use. */
export function serverCall(use: Fields | undefined, result: Fields): ModelEvent {
  const [, tool = ''] = RESULT.exec(textAt(result, 'type')) ?? []
  const content = fieldsOf(result.content)
  const error = textAt(content, 'error_code')
  const code = content.return_code
  const names = objectsOf(content.tool_references).map((reference) => textAt(reference, 'tool_name'))
  const isSearch = tool === 'tool_search'
  return providerEvent({
    // Two tools of code execution come with one definition.
    tool: isSearch ? textAt(use, 'name') || 'tool_search_tool' : tool.replace(/^(?:bash|text_editor)_/, ''),
    id: textAt(result, 'tool_use_id'),
    input: use?.input,
    isFailed: error !== '' || (typeof code === 'number' && code !== 0),
    sources: [...objectsOf(result.content), content].flatMap(pageIn),
    output:
      error || names.join('\n') || textAt(content, 'stdout') || textAt(content, 'stderr') || textAt(content, 'content'),
    // What a search of tools finds is in the request itself.
    isTrusted: isSearch,
  })
}

/** Returns the page of a search result, or of a result of `web_fetch`, whose title is that of the document in it. */
function pageIn(page: Fields) {
  return sourcesIn({ ...page, title: page.title ?? fieldsOf(page.content).title })
}

/** Returns what an earlier answer has, without results whose files a caller may not name, and without their uses. */
export function usableBlocks(places: readonly unknown[]): readonly unknown[] {
  const cut = new Set(places.flatMap((place) => (isCut(fieldsOf(place)) ? [fieldsOf(place).tool_use_id] : [])))
  if (cut.size === 0) return places
  return places.filter((place) => !cut.has(fieldsOf(place).tool_use_id) && !cut.has(fieldsOf(place).id))
}

function isCut({ type, content }: Fields): boolean {
  return isServerResult(type) && objectsOf(fieldsOf(content).content).some((file) => !('file_id' in file))
}

/** Whether a block has a use whose result is to come: the answer was paused, or waits for calls. */
export function isOpenUse(block: Fields, blocks: readonly Fields[]): boolean {
  return block.type === 'server_tool_use' && !blocks.some(({ tool_use_id }) => tool_use_id === block.id)
}
