/**
 * Programs of the offline model: it writes those of which each line is a call, and reads from the declarations in the
 * description of `run_code` what a program can call.
 */
import type { Values } from './fill.ts'
import { isObject, parseJson, type Row } from './schema.ts'
import type { ToolDefinition } from './tool.ts'

export interface Call {
  readonly tool: string
  readonly arguments: Values
}

/** A call that has its result. */
export interface Done extends Call {
  readonly text: string
}

export const RUN_CODE = 'run_code'

const NAME = String.raw`([A-Za-z_$][\w$]*|"(?:[^"\\]|\\.)*")`
const TOOL = new RegExp(String.raw`^ {2}${NAME}\(input\??: (.*)$`)
const FIELD = new RegExp(String.raw`^ {4}${NAME}(\??): (.+)$`)
const COMMENT = /^\s+\/\*\* (.*) \*\/$/

/** Returns the tools that are declared to programs, with as much of their schemas as the types tell. */
export function declaredTools(description: string): readonly ToolDefinition[] {
  const [, declarations = ''] = /^declare const tools: \{\n([^]*?)^\}$/m.exec(description) ?? []
  const tools: { name: string; description: string; parameters: { properties: Row; required: readonly string[] } }[] =
    []
  let comment = ''
  let isInput = false
  for (const line of declarations.split('\n')) {
    const [, tool, input = ''] = TOOL.exec(line) ?? []
    const [, field, optional, type = ''] = FIELD.exec(line) ?? []
    const last = tools.at(-1)
    if (tool !== undefined) {
      tools.push({ name: nameIn(tool), description: comment, parameters: { properties: {}, required: [] } })
      isInput = !input.includes('): Promise<')
    } else if (isInput && line.startsWith('  })')) isInput = false
    else if (isInput && last && field !== undefined) {
      const { properties, required } = last.parameters
      const name = nameIn(field)
      last.parameters = {
        properties: { ...properties, [name]: { ...schemaOf(type), description: comment } },
        required: optional === '' ? [...required, name] : required,
      }
    }
    comment = COMMENT.exec(line)?.[1] ?? ''
  }
  return tools
}

function nameIn(text: string): string {
  return text.startsWith('"') ? String(parseJson(text)) : text
}

function schemaOf(type: string): Row {
  if (type.endsWith('[]')) return { type: 'array' }
  if (type.endsWith('{')) return { type: 'object' }
  const choices = type.split(' | ')
  const values = choices.map(parseJson)
  if (values.every((value) => value !== undefined)) return { enum: values }
  return { type: choices.length > 1 ? choices : type }
}

/** Returns a call of `run_code` with a program that makes these calls at once. */
export function programOf(calls: readonly Call[]): Call {
  const lines = calls.map(({ tool, arguments: values }) => {
    const member = /^[A-Za-z_$][\w$]*$/.test(tool) ? `.${tool}` : `[${JSON.stringify(tool)}]`
    return `  tools${member}(${JSON.stringify(values)}),`
  })
  const code = `const calls = [
${lines.join('\n')}
]
const outcomes = await Promise.allSettled(calls)
return outcomes.map(({ value, reason }) => (reason ? reason.message : value))`
  return { tool: RUN_CODE, arguments: { code } }
}

const LINE = /^ {2}tools(?:\.([\w$]+)|\[(".*?")\])\((\{.*\})\),$/gm

/** Returns the calls of a program that has ended, each with its own result; of another call, the call itself. */
export function callsOf(done: Done): readonly Done[] {
  if (done.tool !== RUN_CODE) return [done]
  const results = parseJson(done.text)
  return [...String(done.arguments['code']).matchAll(LINE)].map(([, name, quoted = '', text = ''], index) => {
    const values = parseJson(text)
    const result: unknown = Array.isArray(results) ? results[index] : done.text
    return {
      tool: name ?? String(parseJson(quoted)),
      arguments: isObject(values) ? values : {},
      text: typeof result === 'string' ? result : JSON.stringify(result),
    }
  })
}
