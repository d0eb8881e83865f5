/** Parses the text of an expression to a syntax tree. */
import { ToolError } from 'edgecall/tool'

export type Expression =
  | { readonly type: 'number'; readonly text: string }
  | { readonly type: 'constant'; readonly name: string }
  | { readonly type: 'negation'; readonly operand: Expression }
  | {
      readonly type: 'operation'
      readonly operator: Operator
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly type: 'call'; readonly name: string; readonly operands: readonly Expression[] }

export type Operator = '+' | '-' | '*' | '/' | '%' | '^'

interface Token {
  readonly kind: 'number' | 'name' | 'symbol' | 'end'
  readonly text: string
  /** The position of the first character in the source, from 1. */
  readonly position: number
}

/** The strength of a sign. It binds looser than a power and tighter than all other operators: -2^2 is -4. */
const SIGN = 3
const STRENGTHS: ReadonlyMap<string, { readonly operator: Operator; readonly strength: number }> = new Map([
  ['+', { operator: '+', strength: 1 }],
  ['-', { operator: '-', strength: 1 }],
  ['*', { operator: '*', strength: 2 }],
  ['/', { operator: '/', strength: 2 }],
  ['%', { operator: '%', strength: 2 }],
  ['^', { operator: '^', strength: 4 }],
  ['**', { operator: '^', strength: 4 }],
])

const TOKEN = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z]\w*)|(\*\*|[-+*/%^(),]))/y

/** Parses an expression. Throws a ToolError that says what was expected at which position. */
export function parse(source: string): Expression {
  const tokens = tokenize(source)
  let next = 0
  const end: Token = { kind: 'end', text: 'the end', position: source.length + 1 }
  const peek = () => tokens[next] ?? end

  function take(text: string): boolean {
    const isMatch = peek().kind === 'symbol' && peek().text === text
    if (isMatch) next++
    return isMatch
  }

  function expect(text: string, what: string): void {
    if (!take(text)) throw unexpected(what, peek())
  }

  /** Parses an expression whose operators have at least the strength `least`. */
  function expression(least: number): Expression {
    let left = operand()
    for (;;) {
      const binary = peek().kind === 'symbol' ? STRENGTHS.get(peek().text) : undefined
      if (!binary || binary.strength < least) return left
      next++
      const { operator, strength } = binary
      // Powers are right-associative, all other operators left-associative.
      const right = expression(operator === '^' ? strength : strength + 1)
      left = { type: 'operation', operator, left, right }
    }
  }

  function operand(): Expression {
    if (take('-')) return { type: 'negation', operand: expression(SIGN) }
    if (take('+')) return expression(SIGN)
    if (take('(')) {
      const inner = expression(1)
      expect(')', 'an operator or ")"')
      return inner
    }
    const token = peek()
    if (token.kind !== 'number' && token.kind !== 'name') throw unexpected('a number, a name or "("', token)
    next++
    if (token.kind === 'number') return { type: 'number', text: token.text }
    return take('(') ? { type: 'call', name: token.text, operands: operands() } : { type: 'constant', name: token.text }
  }

  function operands(): Expression[] {
    const all = [expression(1)]
    while (take(',')) all.push(expression(1))
    expect(')', 'an operator, "," or ")"')
    return all
  }

  const expressionTree = expression(1)
  if (peek().kind !== 'end') throw unexpected('an operator', peek())
  return expressionTree
}

function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  const text = source.trimEnd()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex
    const [, number, name, symbol = ''] = TOKEN.exec(text) ?? []
    const token = number ?? name ?? symbol
    const position = TOKEN.lastIndex - token.length + 1
    if (token === '') throw strange(text, from)
    if (number !== undefined && /^0\d/.test(number)) {
      throw new ToolError(
        `"${number}" at position ${position}: a number may not begin with 0, and has no separators.`,
        {
          code: 'invalid_expression',
        },
      )
    }
    tokens.push({ kind: number ? 'number' : name ? 'name' : 'symbol', text: token, position })
  }
  return tokens
}

function strange(text: string, from: number): ToolError {
  const rest = text.slice(from).trimStart()
  return new ToolError(
    `${JSON.stringify(String.fromCodePoint(rest.codePointAt(0) ?? 0))} at position ${text.length - rest.length + 1} ` +
      'means nothing here: use digits, + - * / % ^ ( ) , and the names of functions and constants.',
    { code: 'invalid_expression' },
  )
}

function unexpected(what: string, { kind, text, position }: Token): ToolError {
  const token = kind === 'end' ? text : JSON.stringify(text)
  return new ToolError(`Expected ${what} at position ${position}, but found ${token}.`, { code: 'invalid_expression' })
}
