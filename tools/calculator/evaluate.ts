/** Evaluates the syntax tree of an expression. */
import { ToolError } from 'edgecall/tool'
import { CONSTANTS, FUNCTIONS } from './functions.ts'
import { type Expression, type Operator, parse } from './parse.ts'
import { add, divide, fromLiteral, multiply, negate, power, remainder, subtract, type Value } from './value.ts'

const OPERATIONS = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '%': remainder,
  '^': power,
} satisfies Record<Operator, (a: Value, b: Value) => Value>

/** Evaluates an expression. Throws a ToolError if it cannot be parsed or has no value. */
export function evaluate(source: string): Value {
  return valueOf(parse(source))
}

function valueOf(expression: Expression): Value {
  switch (expression.type) {
    case 'number':
      return fromLiteral(expression.text)
    case 'constant':
      return constant(expression.name)
    case 'negation':
      return negate(valueOf(expression.operand))
    case 'operation':
      return OPERATIONS[expression.operator](valueOf(expression.left), valueOf(expression.right))
    default:
      return apply(expression.name, expression.operands)
  }
}

function constant(name: string): Value {
  const value = CONSTANTS.get(name.toLowerCase())
  if (value) return value
  const hint = FUNCTIONS.has(name.toLowerCase())
    ? `"${name}" is a function: write ${name}(…).`
    : `There is no constant "${name}". There are ${[...CONSTANTS.keys()].join(' and ')}.`
  throw new ToolError(hint, { code: 'invalid_expression' })
}

function apply(name: string, operands: readonly Expression[]): Value {
  const definition = FUNCTIONS.get(name.toLowerCase())
  if (!definition) {
    throw new ToolError(`There is no function "${name}". There are ${[...FUNCTIONS.keys()].join(', ')}.`, {
      code: 'invalid_expression',
    })
  }
  const [first, ...rest] = operands.map(valueOf)
  const [least, most] = definition.arity
  if (first === undefined || operands.length < least || operands.length > most) {
    const count = least === most ? 'one number' : `${least} to ${most} numbers`
    throw new ToolError(`${name} takes ${count}, not ${operands.length}.`, { code: 'invalid_expression' })
  }
  return definition.apply(first, ...rest)
}
