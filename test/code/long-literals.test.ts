import { expect, test } from 'vitest'
import { findLongLiteral } from '../../src/code/long-literals.ts'
import { decimalValue as decimal, jsonNumbers } from '../fixtures/json-numbers.ts'

const ID = '9007199254740993'

test.each([
  [`return ${ID}`, ID],
  [`const a = "it's"; // 'no\nreturn tools.pay({ id: -${ID} })`, ID],
  ['x = { 9007199254740993: 1 }', ID],
  ['f(9_007_199_254_740_993)', '9_007_199_254_740_993'],
  ['f(0x20000000000001)', '0x20000000000001'],
  [
    'f(0b100000000000000000000000000000000000000000000000000001)',
    '0b100000000000000000000000000000000000000000000000000001',
  ],
  ['f(0o400000000000000001)', '0o400000000000000001'],
  ['f(1e400)', '1e400'],
  ['f(.1234567890123456789)', '.1234567890123456789'],
  ['f(18446744073709551616)', '18446744073709551616'],
  [`\`\${ { a: \`\${ '}' }\` }.a + ${ID} } 1\``, ID],
  [`a[0] / ${ID} / b`, ID],
  [`f(x) / 2 + ${ID} / 3`, ID],
  [`i++ / ${ID} / 2`, ID],
  [`s.split(/"/); f(${ID})`, ID],
  [`return /[/'"]/.test(s) ? ${ID} : 0`, ID],
  [`let a = b ?.5 : ${ID}`, ID],
  [`a = 'unclosed\nf(${ID})`, ID],
])('in %s, a number is rounded', (code, text) => {
  expect(findLongLiteral(code)).toEqual({ text, at: code.indexOf(text) })
})

test.each([
  'return 9007199254740991 + 1e21 + 1e16 + 0.1 + 3.141592653589793 + 1.50 + 5e-324 + 1.7976931348623157e308',
  'return 0.017453292519943295 + 100000000000000000000 + 0x1fffffffffffff + 0x8000000000000000 + 1_000_000.5',
  `return ${ID}n + 0xcbf29ce484222325n`,
  `return "${ID}" + '${ID}' + \`${ID}\` + "\\"${ID}" + '\\\n${ID}'`,
  `// ${ID}\n/* ${ID}\n ${ID} */ return 1 / 2 /* ${ID} */`,
  `return /${ID}/.test(s) || /[/]${ID}/.test(s) || s.match(/\\/${ID}/)`,
  `if (a) { b() }\n/${ID}/.exec(s)`,
  `return \`a \${ b } ${ID} \${ \`\${c}${ID}\` } ${ID} $ {${ID}\``,
  `return a_${ID} + $${ID} + object.x${ID} + ä${ID}`,
  `s.replace(/"/g, "'"); return '${ID}'`,
  `s.replace(/'/g, "'"); return "${ID}"`,
  `return x / 2 + '${ID}' / 2`,
  `const half = (a) => { return a / 2 } // it's ${ID}`,
  `return ["a", 'it\\'s', "${ID}"].map((each) => each.replaceAll('/', "${ID}"))`,
  `const { a } = tools; return \`\${a}\` / 2 + "/${ID}"`,
])('in %s, no number is rounded', (code) => {
  expect(findLongLiteral(code)).toBeUndefined()
})

test('of numbers of all forms, those are found that the engine writes with another value', () => {
  const wrong = jsonNumbers(10_000, 7).filter((each) => {
    const number = Number(each)
    const isSame = Number.isFinite(number) && decimal(String(number)) === decimal(each)
    const isInteger = /^-?\d+$/.test(each)
    return (
      (findLongLiteral(`return ${each}`) === undefined) !== (isSame && (!isInteger || BigInt(each) === BigInt(number)))
    )
  })
  expect(wrong).toEqual([])
})

test('takes time in proportion to the length of the code', () => {
  for (const piece of ['/*', '`${', "'", '/[', '1e', '0x', '}{', '\\']) {
    expect(findLongLiteral(`1e5;${piece.repeat(32_768)}`)).toBeUndefined()
  }
})
