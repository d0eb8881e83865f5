import { contentText, type Content, type Message, type ToolMessage } from './message.ts'
import type { ClientTool, RunRequest } from './run.ts'

/*
 * A caller may search its tools itself: the definitions of those that it defers are told to the model once a result of the
 * caller has named them. The names are in the text of the result, which all models read, and which conversations store.
 */

const BEGINNING = 'Found the tool '
const LINE = new RegExp(`^${BEGINNING}([\\w-]{1,64})\\.$`)

/** Returns the line of a result that names a tool which a search of the caller has found. */
export function foundLine(tool: string): string {
  return `${BEGINNING}${tool}.`
}

/** Reads the names of the tools that a result of the caller's search has found, and what else it says. */
export function readFoundTools(content: readonly Content[]): {
  readonly names: readonly string[]
  readonly otherText: string
} {
  const names: string[] = []
  const others = contentText(content)
    .split('\n')
    .filter((line) => {
      const [, name] = LINE.exec(line) ?? []
      if (name !== undefined) names.push(name)
      return name === undefined
    })
  return { names, otherText: others.join('\n').trim() }
}

/**
 * Returns the tools of a caller that the model is told of: all but those that are deferred, that no result has named, and
 * that the model need not call.
 */
export function loadedTools(
  { clientTools, toolChoice }: Pick<RunRequest, 'clientTools' | 'toolChoice'>,
  messages: readonly Message[],
): readonly ClientTool[] {
  if (!clientTools.some(({ deferred }) => deferred)) return clientTools
  const names = new Set(messages.flatMap((message) => (message.role === 'tool' ? foundByCaller(message) : [])))
  if (typeof toolChoice === 'object') names.add(toolChoice.tool)
  return clientTools.filter(({ name, deferred }) => !deferred || names.has(name))
}

const foundNames = new WeakMap<ToolMessage, readonly string[]>()

function foundByCaller(message: ToolMessage): readonly string[] {
  let names = foundNames.get(message)
  if (!names) foundNames.set(message, (names = message.ok ? readFoundTools(message.content).names : []))
  return names
}

const markedMessages = new WeakMap<ToolMessage, ToolMessage>()

/**
 * Marks the results of the caller's searches with the deferred tools on offer that they found (`found`). The same result
 * becomes the same object each time, so that a codec encodes it once.
 */
export function withFoundByCaller(
  messages: readonly Message[],
  isDeferred: (name: string) => boolean,
): readonly Message[] {
  return messages.map((message) => {
    const names = message.role === 'tool' ? foundByCaller(message).filter(isDeferred) : []
    if (message.role !== 'tool' || names.length === 0) return message
    const marked = markedMessages.get(message)
    if (marked && String(marked.found) === String(names)) return marked
    const withNames = { ...message, found: names }
    markedMessages.set(message, withNames)
    return withNames
  })
}
