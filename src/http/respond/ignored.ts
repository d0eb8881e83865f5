import { selectionWith, type ToolSelection } from '../../contract/run.ts'
import { edgeName } from '../../contract/tool-names.ts'
import { fieldsOf } from '../../wire/fields.ts'
import type { Hint, HostedTool } from '../../wire/client/members.ts'
import { Problem } from '../problem.ts'
import type { EdgeContext } from '../request-context.ts'
import type { RunParameters } from '../runs/prepare-run.ts'

/** The header that names the members of a request that were ignored. */
const HEADER = 'edgecall-ignored'

/** What this isolate has logged: an application sends the same members each time. */
const logged = new Set<string>()
const MOST_LOGGED = 1000

/** The most members that the header and the log name: there may be one for each tool of a request. */
const MOST_NAMED = 20

/** A decoded request, with what it says beside that to its vendor. */
interface ReportedRequest {
  readonly model?: string | undefined
  readonly ignored: readonly string[]
  readonly hints: readonly Hint[]
}

/** What is said of the members of a request by headers, and what of them is passed to its model. */
export interface MemberReport {
  /** Returns the headers, once the tools of the request have been chosen. */
  readonly headers: () => Readonly<Record<string, string>>
  readonly hints?: RunParameters['hints']
  /** As in RequestContext. */
  readonly replacements?: Set<string>
}

/**
 * Says what of a request is ignored, and which tools of the edge are not offered, since the caller has tools of their names:
 * in the log, once in an isolate, and by headers. With `CLIENT_MEMBERS=strict` it throws a Problem 400 for what would be
 * ignored, unless all of it is telemetry, and such tools are refused.
 */
export function reportMembers(
  { setup }: Pick<EdgeContext, 'setup'>,
  route: string,
  request: ReportedRequest,
): MemberReport {
  const resolution = setup.models.resolve(request.model)
  const names = new Set(resolution.ok ? resolution.model.hints : [])
  const isTaken = ({ vendor, name }: Hint) => names.has(`${vendor}.${name}`)
  const entries = request.hints.filter(isTaken).map(({ vendor, name, value }) => [`${vendor}.${name}`, value])
  const others = request.hints.filter((hint) => !isTaken(hint))
  const placeOf = ({ place, name }: Hint) => place ?? name
  const [param] = [...request.ignored, ...others.flatMap((hint) => (hint.isTelemetry ? [] : [placeOf(hint)]))]
  const isStrict = setup.config.clientMembers === 'strict'
  if (isStrict && param !== undefined) {
    const message = `${param}: would be ignored, which this edge does not do (\`CLIENT_MEMBERS\`).`
    throw new Problem({ status: 400, code: 'unsupported_parameter', message, param })
  }
  const replacements = new Set<string>()
  const headers = () => {
    const tools = [...replacements].map((name) => `edgecall.tools.${name}`)
    return reportIgnored({ setup }, route, [...request.ignored, ...others.map(placeOf), ...tools])
  }
  return {
    headers,
    ...(!isStrict && { replacements }),
    ...(entries.length > 0 && { hints: fieldsOf(Object.fromEntries(entries)) }),
  }
}

function reportIgnored(
  { setup }: Pick<EdgeContext, 'setup'>,
  route: string,
  ignored: readonly string[],
): Readonly<Record<string, string>> {
  if (ignored.length === 0) return {}
  // A member of any name may be sent; a header takes no other characters.
  const names = ignored.slice(0, MOST_NAMED).map((name) => name.slice(0, 100).replace(/[^\w.[\]-]/g, '?'))
  const value = names.join(', ')
  const key = `${route} ${value}`
  if (!logged.has(key) && logged.size < MOST_LOGGED) {
    logged.add(key)
    setup.report({ event: 'members.ignored', route, members: names })
  }
  return { [HEADER]: value }
}

/**
 * Returns a selection that also has the tools of the edge that hosted tools stand for, if there are any, and the places of
 * those that the edge has not.
 */
export async function withHosted(
  { setup, caller }: Pick<EdgeContext, 'setup' | 'caller'>,
  selection: ToolSelection | undefined,
  hosted: readonly HostedTool[],
): Promise<{ readonly tools?: ToolSelection; readonly ignored: readonly string[] }> {
  if (hosted.length === 0) return { ignored: [] }
  const tools = await setup.tools(caller).find([...new Set(hosted.map(({ name }) => edgeName(name)))])
  const names = tools.map(({ definition }) => definition.name)
  const ignored = hosted.filter(({ name }) => !names.includes(edgeName(name))).map(({ place }) => place)
  return { ...(names.length > 0 && { tools: selectionWith(selection, names) }), ignored }
}

/** Adds headers to a response. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
