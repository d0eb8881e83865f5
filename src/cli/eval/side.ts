import { resolve } from 'node:path'
import * as v from 'valibot'
import { isObject, type JsonSchema } from '../../contract/json.ts'
import type { ClientTool } from '../../contract/run.ts'
import { RUN_OPTIONS } from '../../contract/run-options.ts'
import type { EdgeAddress } from '../edge.ts'
import { Failure } from '../failure.ts'
import { listAllTools } from '../listing.ts'
import { readJsonFile } from '../text-file.ts'

/** One of the setups that are compared: a model with a set of descriptions. */
export interface EvalSide {
  /** `A`, `B` and so on. */
  readonly label: string
  /** Default: the edge's. */
  readonly model?: string | undefined
  /** DescriptionTexts instead of the edge's own. */
  readonly descriptions?: DescriptionTexts | undefined
  /** Default: the edge's. */
  readonly code?: CodeMode | undefined
}

/** Whether the model can run programs that call tools: `RUN_OPTIONS.code`. */
export const CODE_MODES = RUN_OPTIONS.code.values
export type CodeMode = (typeof CODE_MODES)[number]

/** DescriptionTexts of tools, by their names. */
export interface DescriptionTexts {
  readonly file: string
  readonly byTool: Readonly<Record<string, NewTexts>>
}

interface NewTexts {
  readonly description?: string | undefined
  /** DescriptionTexts of parameters, by their names. */
  readonly parameters?: Readonly<Record<string, string>> | undefined
}

const texts = v.strictObject({
  description: v.optional(v.string()),
  parameters: v.optional(v.record(v.string(), v.string())),
})

const FILE = v.record(
  v.string(),
  v.union([
    v.pipe(
      v.string(),
      v.transform((description) => ({ description })),
    ),
    texts,
  ]),
)

/** Reads a file of descriptions. Throws a Failure that says what is wrong with it. */
export function readDescriptions(root: string, file: string): DescriptionTexts {
  let value: unknown
  try {
    value = readJsonFile(resolve(root, file))
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  return parseDescriptions(value, file)
}

/** Checks the value of a file of descriptions, as `readDescriptions` does. */
export function parseDescriptions(value: unknown, file: string): DescriptionTexts {
  const parsed = v.safeParse(FILE, value)
  if (parsed.success) return { file, byTool: parsed.output }
  const [issue] = parsed.issues
  throw new Failure(
    `${file}: ${v.getDotPath(issue) ?? 'it'}: ${issue.message}`,
    'Such as { "orderStatus": "Tells where an order is. Use it when …" }, or { "description", "parameters" } for each tool.',
  )
}

/** Returns the sides that models, descriptions and modes make: each model first with the edge's own descriptions. */
export function sidesOf(
  models: readonly string[],
  files: readonly DescriptionTexts[],
  codes: readonly CodeMode[] = [],
): readonly EvalSide[] {
  const all = (models.length === 0 ? [undefined] : models).flatMap((model) =>
    [undefined, ...files].flatMap((descriptions) =>
      (codes.length === 0 ? [undefined] : codes).map((code) => ({ model, descriptions, code })),
    ),
  )
  return all.map((side, at) => ({ ...side, label: String.fromCodePoint('A'.charCodeAt(0) + at) }))
}

/** Makes the tools of the edge with other descriptions, as tools of the caller. */
export type DescribeTools = (names: readonly string[], descriptions: DescriptionTexts) => readonly ClientTool[]

/** Reads the definitions of an edge. Throws a Failure for a description of a tool or a parameter that it does not have. */
export async function readDefinitionsOf(
  edge: EdgeAddress,
  files: readonly DescriptionTexts[],
  signal: AbortSignal,
): Promise<DescribeTools> {
  if (files.length === 0) return () => []
  const tools = new Map((await listAllTools(edge, signal)).map((tool) => [tool.name, tool]))
  for (const { file, byTool } of files) {
    for (const [name, { parameters = {} }] of Object.entries(byTool)) {
      const tool = tools.get(name)
      if (!tool)
        throw new Failure(`${file}: the edge has no tool "${name}".`, `It has ${[...tools.keys()].join(', ')}.`)
      const unknown = Object.keys(parameters).find((each) => propertiesOf(tool.inputSchema)[each] === undefined)
      if (unknown !== undefined) throw new Failure(`${file}: ${name} has no parameter "${unknown}".`)
    }
  }
  return (names, { byTool }) =>
    names.flatMap((name) => {
      const tool = tools.get(name)
      if (!tool) return []
      const { description = tool.description ?? '', parameters = {} } = byTool[name] ?? {}
      return [{ name, description, inputSchema: withTexts(tool.inputSchema ?? { type: 'object' }, parameters) }]
    })
}

function withTexts(schema: JsonSchema, parameters: Readonly<Record<string, string>>): JsonSchema {
  const properties = propertiesOf(schema)
  const changed = Object.entries(parameters).map(([name, description]) => [
    name,
    { ...Object(properties[name]), description },
  ])
  return { ...schema, properties: { ...properties, ...Object.fromEntries(changed) } }
}

function propertiesOf(schema: JsonSchema | undefined): Readonly<Record<string, unknown>> {
  const properties = schema?.['properties']
  return isObject(properties) ? properties : {}
}
