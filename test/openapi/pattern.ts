import type { Random } from './random.ts'

const SETS: Readonly<Record<string, string>> = { d: '0123456789', w: 'abcXYZ019_', s: ' ', W: '-', D: 'x', S: 'x' }
const ANY = 'abcXYZ019-'

/** Writes a text that most simple patterns match: literals, sets, groups, alternatives and counts. The caller checks it. */
export function textFor(pattern: string, random: Random): string {
  let at = 0
  const pick = <Each>(all: readonly Each[]) => all[Math.floor(random() * all.length)]

  const readSet = (): string => {
    const isNegated = pattern[at] === '^'
    if (isNegated) at += 1
    let set = ''
    while (at < pattern.length && pattern[at] !== ']') {
      const escaped = pattern[at] === '\\'
      const char = pattern[escaped ? at + 1 : at] ?? ''
      at += escaped ? 2 : 1
      if (escaped && SETS[char] !== undefined) set += SETS[char]
      else if (pattern[at] === '-' && pattern[at + 1] !== ']' && pattern[at + 1] !== undefined) {
        const [from, to] = [char.codePointAt(0) ?? 0, pattern.codePointAt(at + 1) ?? 0]
        for (let code = from; code <= Math.min(to, from + 60); code++) set += String.fromCodePoint(code)
        at += 2
      } else set += char
    }
    at += 1
    return isNegated ? (Array.from(ANY).find((each) => !set.includes(each)) ?? '') : (pick(Array.from(set)) ?? '')
  }

  const readCount = (): number => {
    const [text = '', exact, , most] = /^(?:\{(\d+)(,(\d*))?\}|[*+?])\??/.exec(pattern.slice(at)) ?? []
    at += text.length
    if (exact !== undefined)
      return Math.max(Number(exact), Math.min(Number(exact) + 2, Number(most ?? exact) || Number(exact)))
    return text === '' || text.startsWith('+') ? 1 : Math.round(random())
  }

  const readOne = (): string => {
    const char = pattern[at++] ?? ''
    if (char === '[') return readSet()
    if (char === '(') {
      at += /^\?(?::|<\w+>)/.exec(pattern.slice(at))?.[0].length ?? 0
      return readAll()
    }
    if (char === '^' || char === '$') return ''
    if (char === '.') return pick(Array.from(ANY)) ?? ''
    if (char !== '\\') return char
    const next = pattern[at++] ?? ''
    if (next === 'b') return ''
    return SETS[next] === undefined ? next : (pick(Array.from(SETS[next])) ?? '')
  }

  const readAll = (): string => {
    const branches = ['']
    while (at < pattern.length && pattern[at] !== ')') {
      if (pattern[at] === '|') {
        at += 1
        branches.push('')
        continue
      }
      const start = at
      let text = readOne()
      const end = at
      const count = readCount()
      const after = at
      for (let times = 1; times < count; times++) {
        at = start
        text += readOne()
      }
      at = Math.max(after, end)
      branches.push(`${branches.pop() ?? ''}${count === 0 ? '' : text}`)
    }
    at += 1
    return pick(branches) ?? ''
  }
  return readAll()
}
