import * as v from 'valibot'
import type { CallFault, LoopSetup } from '../../../src/contract/hook.ts'
import type { Compat } from '../../../src/contract/run-options.ts'
import type { Tool, ToolSuccess } from '../../../src/contract/tool.ts'
import { executeToolCalls } from '../../../src/loop.ts'
import { defineTool } from '../../../src/tool.ts'
import type { RunContext } from '../../../src/tool/run-context.ts'
import type { InputSchema } from '../../../src/schema/standard-schema.ts'
import { tool } from '../../fixtures/play.ts'
import { answerWithCalls, carried, QUESTION } from '../scene.ts'

/** What `COMPAT=langchain4j` sets. */
export const THEIRS: Compat = 'langchain4j'
export const COMPAT = { COMPAT: THEIRS }

export const integer = v.pipe(v.number(), v.integer())

/** A whole number of so many bits, as the other side has types for. */
export const bits = (size: number) => v.pipe(integer, v.minValue(-(2 ** (size - 1))), v.maxValue(2 ** (size - 1) - 1))

/** What the model reads of arguments that do not fit, a line for each place. */
export function misfit(...lines: readonly string[]): string {
  return [
    'The arguments of "tool" do not fit:',
    ...lines.map((line) => `- ${line}`),
    'Correct them and call again.',
  ].join('\n')
}

/** The parts of the one result of a tool that does this. */
export async function partsOf(run: (input: object, context: RunContext) => unknown, loop?: LoopSetup, compat?: Compat) {
  const input = EMPTY
  const tools = await carried(defineTool({ name: 'tool', description: 'Tool', input, run }))
  const options = { messages: [QUESTION], tools, ...(loop && { loop }), ...(compat && { request: { compat } }) }
  const { results } = await executeToolCalls(options, answerWithCalls(['tool']))
  return results[0]
}

/** Accepts any object, and tells a model of no field. */
const EMPTY: InputSchema<object> = {
  '~standard': {
    version: 1,
    vendor: 'none',
    jsonSchema: { input: () => ({ type: 'object', properties: {} }) },
    validate: (value) =>
      typeof value === 'object' && value !== null ? { value } : { issues: [{ message: 'no object' }] },
  },
}

/** A tool that fails with this exception, as its author throws it. */
export async function throwing(error: unknown, name = 'broken'): Promise<Tool> {
  const run = () => {
    throw error
  }
  const [tool] = await carried(defineTool({ name, description: 'Fails', input: EMPTY, run }))
  if (!tool) throw new Error('No tool was made')
  return tool
}

/** What becomes of faults of these codes, each in these words. */
export function telling(words: Readonly<Record<string, string>>): LoopSetup {
  return {
    onFault: ({ code }: CallFault) => {
      const message = words[code]
      return message === undefined ? undefined : { message }
    },
  }
}

/** A tool that can be undone; what is undone is noted, with what it was told. */
export function undoable(name: string, undone: string[], run: () => unknown = () => `${name} done`): Tool {
  return {
    ...tool(name, run, { undo: true }),
    undo: async ({ arguments: args }, outcome: ToolSuccess) => {
      undone.push(`${name} ${JSON.stringify(args)} ${JSON.stringify(outcome.content)}`)
      return { ok: true, content: [] }
    },
  }
}
