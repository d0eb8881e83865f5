import type { Report } from '../../contract/setup.ts'
import type { ToolSource } from '../../contract/tool.ts'
import { type ToolPattern, unmatchedPatterns } from '../../contract/tool-patterns.ts'
import { within } from '../../contract/time-limit.ts'

interface ReportOptions {
  readonly patterns: readonly ToolPattern[]
  /** The bindings of tool Workers, which patterns may name whatever their tools. */
  readonly bindings: readonly string[]
  /** The tools of the Workers, and the stored ones, without policies. */
  readonly sources: readonly ToolSource[]
  readonly report: Report
}

/** With more tools than this, only `edgecall doctor` looks for patterns without tools. */
const MOST_TOOLS = 1000
const LONGEST_MS = 2000
/** How often it is tried while a source cannot be listed. */
const MOST_ATTEMPTS = 10

/**
 * Returns a function that reports, once, the patterns of variables that match no tool: a policy for a tool that is
 * misspelt or gone would have no effect, without a word. As long as a source cannot be listed, nothing is reported.
 */
export function reportUnmatched({ patterns, bindings, sources, report }: ReportOptions): () => Promise<void> {
  let openPatterns = patterns
  let attempts = 0
  const check = async () => {
    if (++attempts > MOST_ATTEMPTS) openPatterns = []
    let subjects: Parameters<typeof unmatchedPatterns>[1] = []
    for (const source of sources) {
      if (source.size && (await source.size()) > MOST_TOOLS) return
      const { tools, unavailable } = await source.list()
      if (unavailable.some(({ name }) => name === undefined)) return
      const others = unavailable.map(({ name = '', place, pending }) => ({
        definition: pending?.definition ?? { name },
        place,
      }))
      subjects = [...subjects, ...tools, ...others]
      if (unmatchedPatterns(openPatterns, subjects, bindings).length === 0) break
    }
    const unmatched = unmatchedPatterns(openPatterns, subjects, bindings)
    openPatterns = []
    for (const each of unmatched) report({ event: 'tools.unmatched', ...each })
  }
  return async () => {
    if (openPatterns.length > 0)
      await within<void>(
        LONGEST_MS,
        check().catch(() => {}),
        undefined,
      )
  }
}
