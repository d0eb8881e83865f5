import { dirname, join } from 'node:path'
import type { PolicySubject } from '../../contract/policy.ts'
import { isObject } from '../../contract/json.ts'
import type { StartResult } from '../check/describe.ts'
import type { ToolInFile } from '../check/descriptions.ts'
import { type ProjectTools, subjectsAtEdge, subjectsHere } from '../check/patterns.ts'
import type { CheckProblem } from '../check/problem.ts'
import type { Target } from '../check/target.ts'
import type { EdgeAddress } from '../edge.ts'
import { Failure } from '../failure.ts'
import { type ListedTool, listAllTools } from '../listing.ts'
import { type DoctorFinding, findingsOf } from './finding.ts'

export interface FoundTools {
  readonly tools: readonly ToolInFile[]
  readonly findings: readonly DoctorFinding[]
  /** The tools as policies see them. Absent if not all of them are known. */
  readonly subjects?: readonly PolicySubject[] | undefined
}

/** Returns the tools of the project, as its Workers describe them and its definitions say. */
export function toolsHere(
  { descriptions: described, missing }: Omit<Extract<StartResult, { ok: true }>, 'ok'>,
  files: ProjectTools,
): FoundTools {
  const { targets, definitions } = files
  const inWorkers = targets.flatMap((target) =>
    (described.get(target.name) ?? []).map((tool) => ({ file: moduleOf(target), tool })),
  )
  const stored = definitions.map(({ file, definition }) => ({ file, tool: textOf(definition) }))
  const edge = targets.find(({ role }) => role === 'edge')
  const toolWorkers = new Set(
    edge?.settings.services?.flatMap(({ binding, service }) => (binding.startsWith('TOOL_') ? service : [])),
  )
  const silent = targets.filter(
    ({ name }) => toolWorkers.has(name) && described.get(name)?.length === 0 && !missing.has(name),
  )
  const findings = silent.map(({ config, baseName }) => ({
    file: config,
    message: `${baseName} describes no tools.`,
    remedy: 'Export what serveTools(…) of edgecall/tool makes as the default of its main module.',
  }))
  return {
    tools: [...inWorkers, ...stored],
    findings: findingsOf({ level: 'warning', topic: 'tools' }, [
      ...findings,
      ...targets.flatMap((target) =>
        (missing.get(target.name) ?? []).map((tool) =>
          problemOf(tool, moduleOf(target), tool.source === 'agent' ? WITHOUT_MODEL : REMOTE),
        ),
      ),
    ]),
    subjects: subjectsHere(described, files),
  }
}

/** Returns the tools of an edge that answers, and why some are not available. */
export async function toolsAtEdge(edge: EdgeAddress, files: ProjectTools, signal: AbortSignal): Promise<FoundTools> {
  let listing: readonly ListedTool[]
  try {
    listing = await listAllTools(edge, signal)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const problem = { file: edge.url, message: error.message, remedy: error.hint }
    return { tools: [], findings: findingsOf({ level: 'error', topic: 'tools' }, [problem]) }
  }
  const target = files.targets.find(({ role }) => role === 'edge')
  const unavailable = listing.filter(({ available }) => !available)
  // A tool of another server is not the project's to correct.
  const isRemote = (tool: ListedTool) =>
    tool.source === 'mcp' && tool.name !== tool.place && tool.accepted === undefined
  const problemsOf = (tools: readonly ListedTool[], remedyOf: (tool: ListedTool) => string) =>
    tools.map((tool) => problemOf(tool, fileOf(tool, files) ?? edge.url, remedyOf(tool)))
  const own = problemsOf(
    unavailable.filter((tool) => !isRemote(tool)),
    (tool) => {
      const { name, place, source } = tool
      if (tool.accepted !== undefined)
        return `Its definition has changed: look at GET /tools/${name}, then POST /tools/${name}/accept.`
      const isAgent = source === 'agent' && name !== place
      return isAgent ? WITHOUT_MODEL : `It comes from ${place}: correct it there, or remove it.`
    },
  )
  const remote = problemsOf(unavailable.filter(isRemote), () => REMOTE)
  return {
    tools: listing.flatMap((tool) =>
      tool.available ? [{ file: fileOf(tool, files) ?? `${edge.url} (${tool.place})`, tool: textOf({ ...tool }) }] : [],
    ),
    findings: [
      ...findingsOf({ level: 'error', topic: 'tools' }, own),
      ...findingsOf({ level: 'warning', topic: 'tools' }, remote),
    ],
    subjects: target && subjectsAtEdge(listing, target),
  }
}

const WITHOUT_MODEL =
  'Set MODEL, and the key of its provider, for its Worker: on this machine in .dev.vars beside its wrangler.toml.'
const REMOTE = 'It comes from another MCP server: models do without it.'

function problemOf(
  { name, reason = 'no reason given' }: Pick<ListedTool, 'name' | 'reason'>,
  file: string,
  remedy: string,
): CheckProblem {
  return { file, message: `${name} is not available: ${reason}`.replace(/(?<![.!?])$/, '.'), remedy }
}

/** Returns the file of a listed tool, if it comes from a Worker or a definition of the project. */
function fileOf({ name, place }: ListedTool, { targets, definitions }: ProjectTools): string | undefined {
  const edge = targets.find(({ role }) => role === 'edge')
  const service = edge?.settings.services?.find(({ binding }) => binding === place)?.service
  const target = targets.find((each) => each.name === service)
  return target ? moduleOf(target) : definitions.find((each) => each.name === name)?.file
}

function moduleOf({ config, settings }: Target): string {
  const { main } = settings
  return main === undefined ? config : join(dirname(config), main.replace(/^.*[\\/](?=[^\\/]+$)/, ''))
}

/** Reads what a search reads of a definition, which nobody may have checked yet. */
function textOf(definition: Readonly<Record<string, unknown>>): ToolInFile['tool'] {
  const { name, title, description, tags, inputSchema, inputExamples, hash } = definition
  return {
    name: String(name),
    description: typeof description === 'string' ? description : '',
    hash: typeof hash === 'string' ? hash : '',
    inputSchema: Object(inputSchema),
    ...(typeof title === 'string' && { title }),
    ...(Array.isArray(inputExamples) && { inputExamples: inputExamples.filter(isObject) }),
    ...(Array.isArray(tags) && { tags: tags.map(String) }),
  }
}
