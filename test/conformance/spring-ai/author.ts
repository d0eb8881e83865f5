import * as v from 'valibot'
import { expect } from 'vitest'
import { defineRawTool, defineTool, nameOf, serveTools, toolDefinitions, toolsOf, wireName } from '../../../src/tool.ts'
import { different, type Row, same } from '../rows.ts'

const input = v.object({})
const described = { description: 'Test tool', input }

class Base {
  validTool(): unknown {
    return 'base'
  }
}

class Derived extends Base {
  readonly format = (text: string) => text

  override validTool(): string {
    return 'derived'
  }
}

/** Rows 89 to 93: tools of an object, their names and what they say of themselves. */
export const author: readonly Row[] = [
  {
    row: 89,
    says: 'the methods of an object become tools; what is no method, and an object without any, is refused',
    verdict: different(
      'methods are named, not found: none is on offer by mistake, and types hold them to their schemas',
      () => {
        expect(toolsOf(new Base(), { validTool: described }).map(({ name }) => name)).toEqual(['validTool'])
        // @ts-expect-error What is no method cannot be named.
        expect(() => toolsOf({ field: 'text' }, { field: described })).toThrow(
          new TypeError('toolsOf: "field" is not a method of the object'),
        )
        // @ts-expect-error A class has no methods of its instances.
        expect(() => toolsOf(Base, { validTool: described })).toThrow(
          new TypeError('toolsOf expects an object or an instance of a class, received the class or function Base'),
        )
      },
    ),
  },
  {
    row: 90,
    says: 'two objects with tools of one name are refused',
    verdict: same(() => {
      const tools = [new Base(), new Derived()].flatMap((target) => toolsOf(target, { validTool: described }))
      expect(() => serveTools(...tools)).toThrow(new TypeError('Two tools here are named "validTool"'))
    }),
  },
  {
    row: 91,
    says: 'what is inherited counts once, settings can be shared, and any type may be returned',
    verdict: same(async () => {
      const shared = { ...described, annotations: { readOnly: true }, tags: ['shared'] }
      const tools = toolsOf(new Derived(), { validTool: shared })
      expect(tools.map(({ outline }) => [outline.name, outline.annotations, outline.tags])).toEqual([
        ['validTool', { readOnly: true }, ['shared']],
      ])
      expect(toolsOf(new Base(), { validTool: shared })).toHaveLength(1)
    }),
  },
  {
    row: 92,
    says: 'a tool may have any name, and without one has that of its method',
    verdict: different('providers refuse most names, so each is mapped to one that all take, and back', () => {
      const names = ['valid-name_1', 'with space', 'a@b!', 'tool()', '获取天气', 'a.b']
      expect(names.map(wireName)).toEqual([
        'valid-name_1',
        'with_x20_space',
        'a_x40_b_x21_',
        'tool_x28__x29_',
        '_x83b7__x53d6__x5929__x6c14_',
        'a_x2e_b',
      ])
      expect(names.map(wireName).map(nameOf)).toEqual(names)
      const tool = defineTool({ ...described, name: 'with space', run: () => '' })
      expect([tool.name, tool.outline.title]).toEqual(['with_x20_space', 'with space'])
      expect(() => defineTool({ ...described, name: '', run: () => '' })).toThrow(new TypeError('A tool needs a name'))
    }),
  },
  {
    row: 93,
    says: 'a tool without a description is described by its name',
    verdict: different(
      'a description is all that a model goes by: its author must write one, a loaded tool need not',
      async () => {
        expect(() => defineTool({ name: 'simpleMethod', description: ' ', input, run: () => '' })).toThrow(
          new TypeError('Tool "simpleMethod" needs a description: it is all the model sees'),
        )
        const loaded = [
          defineRawTool({ name: 'simpleMethod' }, () => ''),
          defineRawTool({ name: 'titled', title: 'A title' }, () => ''),
          defineRawTool({ name: 'said', description: 'Said' }, () => ''),
        ]
        const definitions = await toolDefinitions(loaded)
        expect(definitions.map(({ description }) => description)).toEqual(['simpleMethod', 'A title', 'Said'])
      },
    ),
  },
]
