import type { ToolRow } from './questions.ts'

/** The search to beat: BM25 as it comes, over names split at case and underscores, descriptions, parameters, and stems. */
export function plainBm25(tools: readonly ToolRow[]): (question: string, limit: number) => readonly string[] {
  const documents = tools.map(([name, description, parameters = {}]) => {
    const words = wordsOf([name, description, ...Object.entries(parameters).flat()].join(' '))
    return { name, words, counts: countsOf(words) }
  })
  const average = documents.reduce((sum, { words }) => sum + words.length, 0) / documents.length
  const having = countsOf(documents.flatMap(({ counts }) => [...counts.keys()]))
  const gain = (word: string, { words, counts }: (typeof documents)[number]) => {
    const [times, among] = [counts.get(word) ?? 0, having.get(word) ?? 0]
    const rarity = Math.log(1 + (documents.length - among + 0.5) / (among + 0.5))
    return (rarity * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * words.length) / average))
  }
  return (question, limit) => {
    const queryWords = wordsOf(question)
    return documents
      .map((document) => ({
        name: document.name,
        score: queryWords.reduce((sum, word) => sum + gain(word, document), 0),
      }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ name }) => name)
  }
}

function wordsOf(text: string): string[] {
  const spaced = text
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
  return [...spaced.matchAll(/[\p{L}\p{N}]+/gu)].flatMap(([word]) => {
    if (!/[\u3040-\u9fff\uac00-\ud7af]/.test(word)) return [stem(word)]
    return word.length === 1 ? [word] : Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2))
  })
}

function stem(word: string): string {
  return word.length < 4 ? word : word.replace(/ies$/, 'y').replace(/(?:ing|ed|es|s)$/, '')
}

function countsOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
