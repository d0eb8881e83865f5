import { isObject } from '../../contract/json.ts'

/**
 * What the edge does with a member of a vendor's request. `honoured`: does what it says. `forwarded`: passes it to the
 * model, if the model's provider has such a member. `ignored`: answers without it, and names it in the header
 * `edgecall-ignored`, since it only hints. `vendor`: passes it to a model of the vendor, and ignores it for any other.
 * `telemetry`: the same for what only says who asks; no setting refuses it. `refused`: answers with 400, since the answer
 * would mean something else.
 */
export type Handling = 'honoured' | 'forwarded' | 'vendor' | 'telemetry' | 'ignored' | 'refused'

/** The members of a vendor's request, by name. */
export type Members = Readonly<Record<string, Handling>>

/** A tool that the vendor would run, and that stands for the edge's tool of this name if there is one. */
export interface HostedTool {
  readonly name: string
  /** Where the request has it, such as `tools[2]`. */
  readonly place: string
}

/** A member for models of one vendor. */
export interface Hint {
  /** As in the request; that of an object such as `reasoning.summary`. */
  readonly name: string
  readonly vendor: 'openai' | 'anthropic'
  readonly value: unknown
  readonly isTelemetry?: true
  /** Where the request has it. Default: a member of the body, or a header, of this name. */
  readonly place?: string
}

/** Returns the members of a body for models of its vendor. */
export function hintsIn(body: unknown, members: Members, vendor: Hint['vendor']): readonly Hint[] {
  return Object.entries(isObject(body) ? body : {}).flatMap(([name, value]): Hint[] => {
    const handling = members[name]
    if (value == null || (handling !== 'vendor' && handling !== 'telemetry')) return []
    return [{ name, vendor, value, ...(handling === 'telemetry' && { isTelemetry: true }) }]
  })
}

/** Returns the members of a body that are ignored, those that are not known among them. */
export function ignoredMembers(body: unknown, members: Members): readonly string[] {
  return membersIn(body, members, 'ignored')
}

/**
 * Returns the members of a value that are handled in a way; those that are not known are ignored. A null says nothing, and
 * false asks to leave out what is ignored.
 */
export function membersIn(value: unknown, members: Members, handling: Handling): readonly string[] {
  return Object.entries(isObject(value) ? value : {}).flatMap(([name, each]) => {
    const entry = Object.hasOwn(members, name) ? members[name] : undefined
    if (each == null || (each === false && entry === 'ignored')) return []
    return (entry ?? 'ignored') === handling ? [name] : []
  })
}

/** Returns the members of a value of a type, by the types; undefined for one that is not known. */
export function membersOfType(types: Readonly<Record<string, Members>>, type: unknown): Members | undefined {
  return typeof type === 'string' && Object.hasOwn(types, type) ? types[type] : undefined
}

/** Returns the members of a tool, which has this place, but for those of these names. */
export function otherMembers(place: string, tool: object, names: readonly string[]): readonly string[] {
  return Object.entries(tool).flatMap(([name, value]) =>
    value != null && !names.includes(name) ? [`${place}.${name}`] : [],
  )
}
