import { type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import { isObject, type JsonSchema } from '../../../src/contract/json.ts'
import type { ToolOutcome } from '../../../src/contract/tool.ts'
import { unknownKeys, withKnownKeys } from '../../../src/schema/issue.ts'
import { defineRawTool, jsonSchema } from 'edgecall/tool'
import { nameOf } from '../../../src/contract/tool-names.ts'
import { CONTEXT } from '../../fixtures/run-context.ts'
import { type Foreign, foreignFunctions, spoil } from './functions.ts'
import { randomOf } from './random.ts'

const COUNT = 2000
const RIGHT = 3
const WRONG = 6

const functions = foreignFunctions(COUNT)

/** What somebody else’s validator says. It knows JSON Schema alone, and not what OpenAPI 3.0 writes. */
function oracleOf({ inputSchema }: Foreign): (value: unknown) => boolean {
  const draft: SchemaDraft = String(inputSchema['$schema']).includes('draft-07') ? '7' : '2020-12'
  const validator = new Validator(withoutNullable(inputSchema) as Schema, draft)
  return (value) => validator.validate(value).valid
}

function withoutNullable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutNullable)
  if (!isObject(schema)) return schema
  const { nullable, ...rest } = schema
  const inner = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withoutNullable(value)]))
  return nullable === true ? { ...inner, type: [inner['type'], 'null'] } : inner
}

/** The tool of a function, and a call of it that tells what reached the function. */
function loaded(foreign: Foreign) {
  let got: unknown
  const tool = defineRawTool(foreign, (input) => void (got = input))
  const isWrapped = !isDeepEqual(tool.outline.inputSchema, foreign.inputSchema)
  const call = async (value: unknown): Promise<{ outcome: ToolOutcome; got: unknown }> => {
    got = undefined
    return { outcome: await tool.call(isWrapped ? { input: value } : value, CONTEXT), got }
  }
  return { tool, call, isWrapped }
}

/** Whether a told schema is the one that was given, as one of an object. */
function isDeepEqual(schema: JsonSchema, original: JsonSchema): boolean {
  return JSON.stringify(sorted({ properties: {}, ...original, type: 'object' })) === JSON.stringify(sorted(schema))
}

function sorted(schema: JsonSchema): unknown {
  return Object.entries(schema).sort(([a], [b]) => (a < b ? -1 : 1))
}

describe(`${COUNT} functions that others defined`, () => {
  const tools = functions.map((foreign) => ({ foreign, ...loaded(foreign) }))

  test('load with object schemas and descriptions', () => {
    expect(tools).toHaveLength(COUNT)
    for (const { tool, foreign } of tools) {
      expect(tool.outline.inputSchema['type']).toBe('object')
      expect(tool.outline.description).toBe(foreign.description || foreign.name)
    }
    // Each kind of root is among them.
    expect(tools.filter(({ isWrapped }) => isWrapped).length).toBeGreaterThan(20)
  })

  test('have unique wire names that providers accept, which decode to the names', () => {
    const wires = tools.map(({ tool }) => tool.name)
    expect(new Set(wires).size).toBe(COUNT)
    for (const { tool, foreign } of tools) {
      expect(tool.name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/)
      expect(nameOf(tool.name) ?? tool.outline.title).toBe(foreign.name)
    }
  })

  test('receive valid arguments unchanged', async () => {
    for (const { foreign, call } of tools) {
      const random = randomOf(foreign.name.length)
      const isRight = oracleOf(foreign)
      for (let remaining = RIGHT; remaining > 0; remaining--) {
        const value = foreign.right(random)
        expect({ foreign, value, isRight: isRight(value) }).toEqual({ foreign, value, isRight: true })
        const { outcome, got } = await call(value)
        expect({ foreign, value, outcome }).toMatchObject({ outcome: { ok: true } })
        expect(got).toEqual(value)
      }
    }
  })

  test('agree with another validator on which arguments are valid', () => {
    let wrong = 0
    for (const { foreign } of tools) {
      const random = randomOf(foreign.name.length + 1000)
      const isRight = oracleOf(foreign)
      const { validate } = jsonSchema(foreign.inputSchema)['~standard']
      for (let remaining = WRONG; remaining > 0; remaining--) {
        const value = spoil(random, foreign.right(random))
        const result = validate(value)
        const fits = !('issues' in result && result.issues)
        if (!fits) wrong += 1
        expect({ foreign, value, fits }).toEqual({ foreign, value, fits: isRight(value) })
      }
    }
    expect(wrong).toBeGreaterThan((COUNT * WRONG) / 4)
  })

  test('receive no invalid arguments: they are mended, or refused for the model', async () => {
    const counts = { asSent: 0, mended: 0, refused: 0 }
    for (const { foreign, call } of tools) {
      const random = randomOf(foreign.name.length + 1000)
      const isRight = oracleOf(foreign)
      for (let remaining = WRONG; remaining > 0; remaining--) {
        const value = spoil(random, foreign.right(random))
        const { outcome, got } = await call(value)
        if (!outcome.ok) {
          expect(outcome.error.code).toBe('invalid_arguments')
          counts.refused += 1
          // What fits, but has no name that the schema has, is refused too: the tool would be called with nothing.
          if (unknownKeys(foreign.inputSchema, value)) continue
          expect({ foreign, value, isRight: isRight(value) }).toEqual({ foreign, value, isRight: false })
        } else if (isRight(value)) {
          expect(got).toEqual(withKnownKeys(foreign.inputSchema, value))
          counts.asSent += 1
        } else {
          expect({ foreign, value, got, isRight: isRight(got) }).toEqual({ foreign, value, got, isRight: true })
          counts.mended += 1
        }
      }
    }
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(200)
  })
})
