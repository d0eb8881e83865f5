import { describe, expect, test } from 'vitest'
import { declarationsOf, runCodeTool } from '../../src/code/run-code.ts'
import { vmLoader } from '../fixtures/vm-loader.ts'

describe('declarations', () => {
  test('have the types of all kinds of schemas, and descriptions as comments', () => {
    const inputSchema = {
      type: 'object',
      $defs: { money: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } },
      properties: {
        who: { type: 'string', description: 'A person, */ or a team' },
        kind: { enum: ['a', 1, null] },
        fixed: { const: true },
        price: { $ref: '#/$defs/money' },
        tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
        both: { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { $ref: '#/$defs/money' }] },
        maybe: { type: ['string', 'null'] },
        more: { type: 'object', additionalProperties: { type: 'boolean' } },
        'a-b': {},
      },
      required: ['who'],
    }
    const outputSchema = { type: 'array', items: { type: 'string' } }
    expect(declarationsOf([{ name: 'pay-out', description: 'Pays.\nSoon.', inputSchema, outputSchema }])).toBe(
      `declare const tools: {
  /** Pays. Soon. */
  "pay-out"(input: {
    /** A person, * / or a team */
    who: string
    kind?: "a" | 1 | null
    fixed?: true
    price?: {
      amount: number
    }
    tags?: (string | number)[]
    pair?: [string, number]
    both?: {
      a?: string
    } & {
      amount: number
    }
    maybe?: string | null
    more?: {
      [name: string]: boolean
    }
    "a-b"?: unknown
  }): Promise<string[]>
}`,
    )
  })
})

describe('the definition of run_code', () => {
  const toolsOf = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => ({
      name: `${name}${index}`,
      description: `Does the work of number ${index} for the people of a department, and tells what came of it.`,
      inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      hash: String(index),
    }))
  const characters = async (count: number, name = 'tool') =>
    JSON.stringify((await runCodeTool(vmLoader(), toolsOf(count, name))).definition).length

  test('takes at most 2,000 tokens for 1,000 tools, and for as many as are listed by name', async () => {
    expect(await characters(1000)).toBeLessThan(2000 * 4)
    expect(await characters(60)).toBeLessThan(2000 * 4)
    expect(await characters(60)).toBeGreaterThan(60 * 80)
  })

  test('has the declarations of 40 tools, and names of more', async () => {
    const describe = async (count: number) =>
      (await runCodeTool(vmLoader(), toolsOf(count, 'tool'))).definition.description
    expect(await describe(40)).toContain('  tool39(input: {\n    id: string\n  }): Promise<any>')
    expect(await describe(41)).toContain('\ntool40: Does the work of number 40')
    expect(await describe(1000)).toContain('There are 1000 tools.')
  })
})
