import type { DefinitionIssue } from '../contract/definition.ts'
import { canonicalJson, parseJson } from '../contract/json.ts'
import { parseEndpoint } from './http/endpoint.ts'
import type { Change } from '../contract/catalogue.ts'
import { parseStored, type StoredTool } from './definition.ts'
import { narrowings } from '../schema/narrower.ts'

/** Says what the text of a new version changes for callers and readers of the version before it. Never throws. */
export function compareTexts(before: string, after: string): Change {
  const [old, now] = [before, after].map((text) => parseStored(parseJson(text)))
  if (!old?.ok || !now?.ok) return broken([{ path: '', message: 'one of the versions can no longer be read' }])
  return compareStored(old.stored, now.stored)
}

/**
 * Compares two versions of a stored tool. A change is compatible if every valid call stays valid, results can be read
 * as before, and a host need not be more careful than it was: new optional parameters, wider types, other descriptions
 * and limits. Any other change is breaking, and so is one that cannot be shown to be compatible.
 */
export function compareStored(before: StoredTool, after: StoredTool): Change {
  if (canonicalJson(before) === canonicalJson(after)) return { change: 'unchanged', breaks: [] }
  const breaks = [
    ...narrowings(before.inputSchema, after.inputSchema).map(under('inputSchema')),
    ...resultBreaks(before, after),
    ...policyBreaks(before, after),
    ...targetBreaks(before, after),
  ]
  return breaks.length > 0 ? broken(breaks) : { change: 'compatible', breaks: [] }
}

const MOST_BREAKS = 32

function broken(breaks: readonly DefinitionIssue[]): Change {
  return { change: 'breaking', breaks: breaks.slice(0, MOST_BREAKS) }
}

function under(outer: string): (issue: DefinitionIssue) => DefinitionIssue {
  return ({ path, message }) => ({ path: path === '' ? outer : `${outer}.${path}`, message })
}

/** Returns where a result of the new version might not fit the output schema of the old one. */
function resultBreaks({ outputSchema: old }: StoredTool, { outputSchema: now }: StoredTool): DefinitionIssue[] {
  if (!old) return []
  if (!now) return [{ path: 'outputSchema', message: 'is gone: nothing is said of the result any more' }]
  return narrowings(now, old, 'result').map(({ path }) =>
    under('outputSchema')({ path, message: 'allows another result' }),
  )
}

function policyBreaks(before: StoredTool, after: StoredTool): DefinitionIssue[] {
  const [old, now] = [before.annotations ?? {}, after.annotations ?? {}]
  const lost = (['readOnly', 'idempotent'] as const).filter((hint) => old[hint] === true && now[hint] !== true)
  return [
    ...lost.map((hint) => ({ path: `annotations.${hint}`, message: 'is promised no more' })),
    ...(old.destructive === false && now.destructive !== false
      ? [{ path: 'annotations.destructive', message: 'is excluded no more' }]
      : []),
    ...((after.approval ?? 'never') !== 'never' && canonicalJson(after.approval) !== canonicalJson(before.approval)
      ? [{ path: 'approval', message: 'calls need a person’s approval now' }]
      : []),
    ...(after.returnDirect === before.returnDirect
      ? []
      : [{ path: 'returnDirect', message: 'the result goes another way' }]),
  ]
}

function targetBreaks(before: StoredTool, after: StoredTool): DefinitionIssue[] {
  const [old, now] = [targetOf(before), targetOf(after)]
  const paths = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((path) => old[path] !== now[path])
  return [
    ...paths.map((path) => ({ path, message: 'another place answers, or in another way' })),
    ...moduleBreaks(before, after),
  ]
}

/** Other code may answer anything, unless an output schema already held the results of the code before. */
function moduleBreaks(before: StoredTool, after: StoredTool): DefinitionIssue[] {
  if (!('code' in before && 'code' in after) || before.outputSchema) return []
  if (before.code.module === after.code.module) return []
  return [{ path: 'code.module', message: 'other code answers, and no outputSchema said what' }]
}

/** Returns what answers a call, and in which form, by path in the definition. */
function targetOf(stored: StoredTool): Record<string, string | undefined> {
  if ('binding' in stored) return { binding: stored.binding, call: stored.call }
  if ('static' in stored) return { static: Object.keys(stored.static)[0] }
  if ('code' in stored) return { code: 'module', 'code.hosts': [...(stored.code.hosts ?? [])].sort().join(' ') }
  const { url, method, result = '' } = stored.http
  const endpoint = parseEndpoint(url)
  const origin = typeof endpoint === 'string' ? url : endpoint.base.origin
  return { 'http.url': origin, 'http.method': method, 'http.result': result }
}
