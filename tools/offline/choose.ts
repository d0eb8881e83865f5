/**
 * Chooses a tool for a question by its definition alone. Words that the definition speaks of count for a tool; words and
 * values that it has no use for count against it. A tool with more than half as much against it as for it does not fit.
 */
import { fill, type Filled, FREE_TEXT, type Question } from './fill.ts'
import type { Reading } from './reading.ts'
import type { Tool } from './tool.ts'
import { wordsOf } from './vocabulary.ts'

export interface Candidate extends Question {
  readonly filled: Filled
  readonly score: number
}

const CORE = 1.5
/** An expression that a tool for square roots takes as its number. */
const PLAIN_ROOT = /^sqrt\([\d.]+\)$/

/** Returns the tool that fits a question best, or undefined. `aside` is text that tells, but asks for nothing. */
export function choose(tools: readonly Tool[], reading: Reading, aside = ''): Candidate | undefined {
  const candidates = tools.flatMap((tool) => weigh(tool, reading, aside) ?? [])
  return candidates.sort((a, b) => b.score - a.score)[0]
}

function weigh(tool: Tool, reading: Reading, aside: string): Candidate | undefined {
  const { action, kinds, when, expression } = reading
  const isChange = action === 'remove' || action === 'change'
  if (tool.action !== action && (tool.action !== 'read' || isChange)) return undefined
  const weightOf = (concept: string): number => tool.topics.get(concept) ?? 0
  // “Who is customer 42?” asks about a person, whatever the tool calls them.
  if (!kinds.every((kind) => weightOf(kind) > 0 || (kind === 'person' && weightOf('customer') > 0))) return undefined
  const filled = fill({ tool, reading })
  const has = (part: unknown): boolean => filled.used.has(part)
  const counted = new Set<string>()
  let [matched, foreign, core] = [0, 0, has(expression) ? 3 : 0]
  for (const { at, concepts, isEmpty } of reading.words) {
    if (isEmpty) continue
    const [best = ''] = [...concepts].sort((a, b) => weightOf(b) - weightOf(a))
    const weight = weightOf(best)
    if (weight === 0 && at >= aside.length && !has(FREE_TEXT) && !has(expression)) foreign += 1
    if (weight === 0 || counted.has(best)) continue
    counted.add(best)
    matched += weight
    core = Math.max(core, weight)
  }
  if (tool.action !== action) foreign += CORE
  foreign += unusedOf(reading, tool, filled)
  if (expression !== undefined && !has(expression) && !PLAIN_ROOT.test(expression)) foreign += 3
  const isTime = counted.has('time') || counted.has('date')
  const tellsPresent = tool.tellsNow && !when?.clock && isTime
  const support = matched + (has(expression) ? 2 : 0) + (tellsPresent ? 1 : 0)
  if (core < CORE || foreign > support / 2) return undefined
  // Of two tools for the same thing, that one is meant whose name says no more than the question.
  const content = wordsOf(tool.name).filter(({ isEmpty }) => !isEmpty)
  const excess = content.filter(({ concepts }) => !concepts.some((each) => counted.has(each)))
  return { tool, reading, filled, score: support - foreign - (filled.missing.length + excess.length) / 2 }
}

/** Weighs the values of a question that a tool has no use for. A time of day that is lost would change the question. */
function unusedOf({ when, names, numbers, emails, codes }: Reading, tool: Tool, { used }: Filled): number {
  const lost = (parts: readonly unknown[]): number => parts.filter((part) => !used.has(part)).length
  const isToday = when?.day === 0 && !when.clock
  const isTime = when === undefined || used.has(when) || isToday || (tool.tellsNow && !when.clock)
  const time = isTime ? 0 : when.clock ? 4 : when.ms === undefined ? 0.5 : 2
  const values = used.has(FREE_TEXT) ? 0 : lost(names) / 2 + lost(numbers) + lost(codes)
  return time + values + lost(emails) * 2
}
