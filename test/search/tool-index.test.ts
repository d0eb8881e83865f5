import { createFusedIndex, createSemanticIndex } from '../../src/search/semantic-index.ts'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { createRegexIndex } from '../../src/search/regex-index.ts'
import { toolIndexSuite } from '../suites/tool-index.ts'

/** Meanings for a test: money, weather, and all else. */
async function embed(texts: readonly string[]): Promise<number[][]> {
  return texts.map((text) => {
    const has = (...words: readonly string[]) => (words.some((word) => text.toLowerCase().includes(word)) ? 1 : 0)
    return [has('invoice', 'bill', 'owe'), has('weather', 'rain'), 0.1]
  })
}

toolIndexSuite('keywords', createKeywordIndex)
toolIndexSuite('regular expressions', createRegexIndex)
toolIndexSuite('meanings', () => createSemanticIndex({ embed }))
toolIndexSuite('keywords and meanings', () => createFusedIndex(createKeywordIndex(), createSemanticIndex({ embed })))
