import type { CountedPrompt, TokenCount } from '../../contract/context.ts'
import type { Message } from '../../contract/message.ts'
import type { Usage } from '../../contract/usage.ts'
import { type Countable, messageSize, promptSize, TOKENS_A_FILE } from '../window/tokens.ts'

/** The bounds of what is learnt, so that one strange count does not spoil the plans that follow. */
const FACTORS = { least: 0.3, most: 5 }
const FILES = { least: 40, most: 30_000 }
/** How much a prompt has grown if its count must have grown too. */
const GROWTH = 1.3
/** A count has not grown if it has by less than this part of what the prompt was expected to have added. */
const LEAST_GROWTH = 0.2
/** A count that fell to less than this part is of something else, such as the part that was not cached. */
const LEAST_OF_LAST = 0.6
/** The least tokens that a window has. */
export const LEAST_WINDOW = 1000
/** The fewest tokens of text between two prompts that tell the count of text from that of files. */
const LEAST_DIFFERENCE = 100

/** Returns the tokens of a message beside those of its text, both in the unit of the estimate. */
export function measureWith({ factor = 1, fileTokens = TOKENS_A_FILE }: TokenCount): (message: Message) => number {
  return (message) => {
    const { text, files } = messageSize(message)
    return text + (files * fileTokens) / factor
  }
}

/** Returns the tokens that a model will count in a request: its last count, and an estimate of what was added since. */
export function countOf(tokens: TokenCount, request: Countable): number {
  const { factor = 1, growth = factor, fileTokens = TOKENS_A_FILE, last } = tokens
  const { text, files } = promptSize(request)
  if (!last || text < last.text || files < last.files) return text * factor + files * fileTokens
  return last.counted + (text - last.text) * growth + (files - last.files) * fileTokens
}

/**
 * Learns from a model's count of a request. If the prompt has grown and its count has not, the server has cut it without
 * a word: its window is then not longer than that count.
 */
export function learnCount(tokens: TokenCount, request: Countable, { inputTokens: counted }: Usage): void {
  if (counted <= 0) return
  const size = promptSize(request)
  const { last } = tokens
  const { factor = 1, growth = Math.min(factor, 1) } = tokens
  const added = last ? (size.text - last.text) * growth : 0
  if (last && counted - last.counted < LEAST_GROWTH * added) {
    // Servers that leave out whole messages count a little less than their window has.
    const isCut = added > (GROWTH - 1) * last.counted && counted >= last.counted * LEAST_OF_LAST
    if (isCut && last.counted >= LEAST_WINDOW) tokens.contextTokens = Math.max(last.counted, counted)
    return
  }
  learnFactors(tokens, { ...size, counted })
  tokens.last = { ...size, counted }
}

/** Learns how far the estimate is off, from a server's count of a request that it refused. */
export function learnFromRefusal(tokens: TokenCount, request: Countable, counted: number): void {
  learnFactors(tokens, { ...promptSize(request), counted })
}

function learnFactors(tokens: TokenCount, { text, files, counted }: CountedPrompt): void {
  const { last, firstFiles } = tokens
  const added = {
    text: text - (last?.text ?? 0),
    files: files - (last?.files ?? 0),
    counted: counted - (last?.counted ?? 0),
  }
  if (last && added.files === 0 && added.text >= LEAST_DIFFERENCE)
    tokens.growth = bounded(added.counted / added.text, FACTORS)
  if (files > 0) {
    if (last && added.files > 0 && !firstFiles) {
      if (tokens.growth === undefined) tokens.firstFiles = added
      else learnFiles(tokens, added, last.files)
    } else if (tokens.growth !== undefined && firstFiles) {
      learnFiles(tokens, firstFiles, 0)
      delete tokens.firstFiles
    } else if (tokens.growth !== undefined && tokens.fileTokens === undefined)
      tokens.fileTokens = bounded((counted - tokens.growth * text) / files, FILES)
    if (tokens.fileTokens === undefined) return
  }
  tokens.factor = bounded((counted - files * (tokens.fileTokens ?? 0)) / text, FACTORS)
}

/** Takes for the tokens of new files what the text that came with them does not explain. `before`: the files so far. */
function learnFiles(tokens: TokenCount, added: CountedPrompt, before: number): void {
  const { growth = 1, fileTokens = TOKENS_A_FILE } = tokens
  const ofFiles = Math.max(0, added.counted - added.text * growth)
  tokens.fileTokens = bounded((before * fileTokens + ofFiles) / (before + added.files), FILES)
}

/** Returns a value within bounds, with no more digits than an event should have. */
function bounded(value: number, { least, most }: { readonly least: number; readonly most: number }): number {
  return Math.round(Math.min(most, Math.max(least, value)) * 10_000) / 10_000
}
