import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { type DefinedTool, toolsOf } from '../../src/tool/define.ts'
import type { RunContext } from '../../src/tool/run-context.ts'
import { CONTEXT, runContext } from '../fixtures/run-context.ts'
import { text } from '../host/source/calls.ts'

interface Env {
  readonly GREETING: string
}

class Greeter {
  readonly #mark = '!'

  greet({ name }: { name: string }, { env }: RunContext<Env>): string {
    return `${env.GREETING} ${name}${this.#mark}`
  }

  part({ name }: { name: string }): string {
    return `Bye ${name}${this.#mark}`
  }
}

class LoudGreeter extends Greeter {
  override part(input: { name: string }): string {
    return super.part(input).toUpperCase()
  }
}

const input = v.object({ name: v.string() })

test('methods become tools in the order of their options, each with its context', async () => {
  const tools: DefinedTool<Env>[] = toolsOf(new Greeter(), {
    part: { description: 'Says goodbye.', input, annotations: { readOnly: true } },
    greet: { name: 'say.hello', description: 'Greets.', input, undo: ({ name }) => `Forgot ${name}` },
  })
  expect(tools.map(({ outline }) => outline)).toMatchObject([
    { name: 'part', description: 'Says goodbye.', annotations: { readOnly: true } },
    { name: 'say_x2e_hello', title: 'say.hello', description: 'Greets.', undo: true },
  ])
  const [part, greet] = tools
  const context = runContext({ GREETING: 'Hello' })
  expect(await greet?.call({ name: 'Ada' }, context)).toEqual(text('Hello Ada!'))
  expect(await part?.call({ name: 'Ada' }, context)).toEqual(text('Bye Ada!'))
  expect(await part?.call({}, context)).toMatchObject({ error: { code: 'invalid_arguments' } })
})

test('inherited methods become tools, and overrides win', async () => {
  const [greet, part] = toolsOf(new LoudGreeter(), {
    greet: { description: 'Greets.', input },
    part: { description: 'Says goodbye.', input },
  })
  expect(await greet?.call({ name: 'Ada' }, runContext({ GREETING: 'Hello' }))).toEqual(text('Hello Ada!'))
  expect(await part?.call({ name: 'Ada' }, runContext({ GREETING: '' }))).toEqual(text('BYE ADA!'))
})

test('the methods of a plain object become tools', async () => {
  const numbers = { base: 10, add: ({ n }: { n: number }) => numbers.base + n }
  const [add] = toolsOf(numbers, { add: { description: 'Adds.', input: v.object({ n: v.number() }) } })
  expect(await add?.call({ n: '5' }, CONTEXT)).toMatchObject({ structured: 15 })
})

describe('a tool of a method is refused at once:', () => {
  const options = { description: 'X.', input }

  test.each<[string, object, string, string]>([
    [
      'a class for an instance',
      Greeter,
      'greet',
      'toolsOf expects an object or an instance of a class, received the class or function Greeter',
    ],
    ['a name that is not there', new Greeter(), 'none', 'toolsOf: "none" is not a method of the object'],
    ['a field', { greet: 'hello' }, 'greet', 'toolsOf: "greet" is not a method of the object'],
    ['the constructor', new Greeter(), 'constructor', 'toolsOf: "constructor" is not a method of the object'],
    ['what every object has', new Greeter(), 'toString', 'toolsOf: "toString" is not a method of the object'],
  ])('%s', (_, target, method, message) => {
    expect(() => Reflect.apply(toolsOf, undefined, [target, { [method]: options }])).toThrow(new TypeError(message))
  })

  test('by the compiler: a method with another parameter', () => {
    // @ts-expect-error the schema makes a number of what the method takes as text
    expect(toolsOf(new Greeter(), { part: { description: 'X.', input: v.object({ name: v.number() }) } })).toHaveLength(
      1,
    )
    // @ts-expect-error there is no such method
    expect(() => toolsOf(new Greeter(), { none: options })).toThrow(TypeError)
  })
})
