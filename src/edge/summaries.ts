import type { Summaries } from '../contract/summaries.ts'
import { summarize } from '../conversation/history/summary.ts'
import { earlierContext, summaryContext } from '../conversation/history/summary-context.ts'

/**
 * Summaries: a model makes notes on the messages that leave the window of a conversation (`MEMORY_SUMMARY`, or
 * `window.summary` of the conversation), which later runs see in place of these messages.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, summaries })
 */
export const summaries: Summaries = { context: summaryContext, earlier: earlierContext, summarize }
