import type { DefinitionIssue } from '../contract/definition.ts'
import { canonicalJson, parseJson } from '../contract/json.ts'
import { parseEndpoint } from './http/template.ts'
import type { Change } from '../contract/catalogue.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import { parseStored, type StoredTool } from './definition.ts'
import { narrowings } from '../schema/narrower.ts'

/** Compares the text of a new version with the version before it. Never throws. */
export function compareTexts(before: string, after: string): Change {
  const [old, current] = [before, after].map((text) => parseStored(parseJson(text)))
  if (!old?.ok || !current?.ok) return breaking([{ path: '', message: 'one of the versions can no longer be read' }])
  return compareStored(old.stored, current.stored)
}

/**
 * Compares two versions of a stored tool. A change is compatible if every valid call stays valid, results can be read
 * as before, and a host need not be more careful than it was: new optional parameters, wider types, other descriptions
 * and limits. Any other change is breaking, and so is one that cannot be shown to be compatible.
 */
export function compareStored(before: StoredTool, after: StoredTool): Change {
  if (canonicalJson(before) === canonicalJson(after)) return { change: 'unchanged', breaks: [] }
  const breaks = [...contractBreaks(before, after), ...targetBreaks(before, after)]
  return breaks.length > 0 ? breaking(breaks) : { change: 'compatible', breaks: [] }
}

/** What callers of a tool rely on, whatever performs it. */
type ToolContract = Pick<
  ToolDefinition,
  'inputSchema' | 'outputSchema' | 'annotations' | 'approval' | 'returnDirect' | 'history'
>

/** Returns where a valid call of a tool, its result or its effects may no longer be what they were. */
export function contractBreaks(before: Partial<ToolContract>, after: Partial<ToolContract>): DefinitionIssue[] {
  return [
    ...narrowings(before.inputSchema ?? {}, after.inputSchema ?? {}).map(prefixPath('inputSchema')),
    ...resultBreaks(before, after),
    ...policyBreaks(before, after),
  ]
}

const MOST_BREAKS = 32

function breaking(breaks: readonly DefinitionIssue[]): Change {
  return { change: 'breaking', breaks: breaks.slice(0, MOST_BREAKS) }
}

function prefixPath(outer: string): (issue: DefinitionIssue) => DefinitionIssue {
  return ({ path, message }) => ({ path: path === '' ? outer : `${outer}.${path}`, message })
}

/** Returns where a result of the new version might not fit the output schema of the old one. */
function resultBreaks(
  { outputSchema: old }: Partial<ToolContract>,
  { outputSchema: current }: Partial<ToolContract>,
): DefinitionIssue[] {
  if (!old) return []
  if (!current) return [{ path: 'outputSchema', message: 'was removed: the result has no schema any more' }]
  return narrowings(current, old, 'result').map(({ path }) =>
    prefixPath('outputSchema')({ path, message: 'allows another result' }),
  )
}

function policyBreaks(before: Partial<ToolContract>, after: Partial<ToolContract>): DefinitionIssue[] {
  const [old, current] = [before.annotations ?? {}, after.annotations ?? {}]
  const lostHints = (['readOnly', 'idempotent'] as const).filter((hint) => old[hint] === true && current[hint] !== true)
  return [
    ...lostHints.map((hint) => ({ path: `annotations.${hint}`, message: 'is no longer guaranteed' })),
    ...(old.destructive === false && current.destructive !== false
      ? [{ path: 'annotations.destructive', message: 'is no longer excluded' }]
      : []),
    ...((after.approval ?? 'never') !== 'never' && canonicalJson(after.approval) !== canonicalJson(before.approval)
      ? [{ path: 'approval', message: 'calls need a person’s approval now' }]
      : []),
    ...(after.history && !before.history
      ? [{ path: 'history', message: 'calls carry the messages of the conversation now' }]
      : []),
    ...(after.returnDirect === before.returnDirect
      ? []
      : [{ path: 'returnDirect', message: 'the result is returned in another way' }]),
  ]
}

function targetBreaks(before: StoredTool, after: StoredTool): DefinitionIssue[] {
  const [old, current] = [targetOf(before), targetOf(after)]
  const paths = [...new Set([...Object.keys(old), ...Object.keys(current)])].filter(
    (path) => old[path] !== current[path],
  )
  return [
    ...paths.map((path) => ({ path, message: 'calls go to another target, or results are read in another way' })),
    ...moduleBreaks(before, after),
  ]
}

/** Changed code may return anything, unless an output schema already constrained the results of the code before. */
function moduleBreaks(before: StoredTool, after: StoredTool): DefinitionIssue[] {
  if (!('code' in before && 'code' in after) || before.outputSchema) return []
  if (before.code.module === after.code.module) return []
  return [{ path: 'code.module', message: 'the code has changed, and no outputSchema constrained its results' }]
}

/** Returns what answers a call, and in which form, by path in the definition. */
function targetOf(tool: StoredTool): Record<string, string | undefined> {
  if ('binding' in tool) return { binding: tool.binding, call: tool.call }
  if ('static' in tool) return { static: Object.keys(tool.static)[0] }
  if ('worker' in tool) return { 'worker.script': tool.worker.script, 'worker.tool': tool.worker.tool }
  if ('code' in tool) return { code: 'module', 'code.hosts': [...(tool.code.hosts ?? [])].sort().join(' ') }
  const { url, method, result = '' } = tool.http
  const endpoint = parseEndpoint(url)
  const origin = typeof endpoint === 'string' ? url : endpoint.base.origin
  return { 'http.url': origin, 'http.method': method, 'http.result': result }
}
