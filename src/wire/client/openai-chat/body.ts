import * as v from 'valibot'
import type { ResponseFormat, ToolChoice } from '../../../contract/model.ts'
import type { ClientTool, ToolSelection } from '../../../contract/run.ts'
import type { BodyFault } from '../body.ts'
import { isText, parametersSchema, plainObject, toolName } from '../../schema.ts'

/** Schemas that the request bodies of OpenAI's two formats share. */
export const optionalText = v.nullish(v.string())
export const number = v.nullish(v.number())
export const optionalFlag = v.nullish(v.boolean())
export const absent = v.nullish(v.custom<undefined>(() => false, 'is not supported.'))

/** The members of a function, which is a tool that the caller runs. */
export const functionMembers = {
  name: toolName,
  description: v.nullish(v.string(), ''),
  parameters: v.nullish(parametersSchema, {}),
  strict: optionalFlag,
}

type CallerFunction = v.InferOutput<v.ObjectSchema<typeof functionMembers, undefined>>

export function toClientTool({ name, description, parameters, strict }: CallerFunction): ClientTool {
  return { name, description, inputSchema: parameters, ...(strict && { strict }) }
}

/** The members of an answer format of type `json_schema`. */
export const formatMembers = { name: v.string(), schema: plainObject, strict: optionalFlag }

type AnswerFormat =
  | { readonly type: 'text' | 'json_object' }
  | ({ readonly type: 'json_schema' } & v.InferOutput<v.ObjectSchema<typeof formatMembers, undefined>>)

export function toFormat(format: AnswerFormat): ResponseFormat {
  if (format.type !== 'json_schema') return format
  const { strict, ...rest } = format
  return { ...rest, ...(typeof strict === 'boolean' && { strict }) }
}

/** The mode of a tool choice of type `allowed_tools`. */
export const allowedMode = v.picklist(['auto', 'required'])

/** A tool choice that names a tool, or all tools that the model may call. */
export interface ChoiceOfTools {
  readonly tool?: string
  readonly names?: readonly string[]
  readonly mode?: 'auto' | 'required'
}

interface ChosenTools {
  readonly clientTools: readonly ClientTool[]
  readonly toolChoice?: ToolChoice | undefined
  /** The tools of the edge that the choice allows, if it names any. */
  readonly tools?: ToolSelection
}

/**
 * Applies a tool choice. Client tools that it does not allow count as not sent; other allowed names are tools of the
 * edge.
 */
export function chooseTools(
  choice: ToolChoice | ChoiceOfTools | null | undefined,
  clientTools: readonly ClientTool[],
): ChosenTools {
  if (isText(choice) || !choice) return { clientTools, toolChoice: choice ?? undefined }
  if (!('names' in choice)) return { clientTools, toolChoice: { tool: choice.tool ?? '' } }
  const { names = [], mode } = choice
  const ownNames = clientTools.map(({ name }) => name)
  return {
    clientTools: clientTools.filter(({ name }) => names.includes(name)),
    toolChoice: mode,
    tools: names.filter((name) => !ownNames.includes(name)),
  }
}

/** Which text of the run is shown; a member of `edgecall`. */
export const whichRounds = v.exactOptional(v.picklist(['final', 'all']))

/** A fault of a body, in the form of OpenAI's error object. */
export interface OpenAiFault {
  readonly message: string
  /** The path of what is wrong; null for the whole body. */
  readonly param: string | null
  readonly code: string
}

/** Converts a fault to OpenAI's form. `unsupported`: members that are refused. `codeAt`: the code for other paths. */
export function openAiFault(
  { path, message, missing }: BodyFault,
  unsupported: object,
  codeAt: (path: string) => string = () => 'invalid_value',
): OpenAiFault {
  const [member = ''] = path.split(/\W/, 1)
  const code = missing ? 'missing_required_parameter' : member in unsupported ? 'unsupported_parameter' : codeAt(path)
  return { message, param: path || null, code }
}
