import { expect, test } from 'vitest'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { definitionOfRow, partFound } from './labelled.ts'
import { plainBm25 } from './plain-bm25.ts'
import { QUESTIONS, type QuestionRow, TOOLS } from './questions.ts'

type Search = (question: string, limit: number) => readonly string[] | Promise<readonly string[]>

/** The part of the wanted tools that is among the first ones found: as many as are wanted, plus `more`. */
async function recall(search: Search, questions: readonly QuestionRow[], more: number): Promise<number> {
  let sum = 0
  for (const [question, ...wanted] of questions) {
    const matches = await search(question, wanted.length + more)
    sum += partFound(wanted, matches)
  }
  return sum / questions.length
}

async function keywordSearch(): Promise<Search> {
  const index = createKeywordIndex()
  await index.add(TOOLS.map(definitionOfRow))
  return async (question, limit) => (await index.search(question, limit)).map(({ name }) => name)
}

test('the keyword index finds the labelled tools, and ranks them higher than plain BM25', async () => {
  const [keyword, plain] = [await keywordSearch(), plainBm25(TOOLS)]
  expect(await recall(keyword, QUESTIONS, 4)).toBeGreaterThanOrEqual(0.98)
  expect(await recall(keyword, QUESTIONS, 0)).toBeGreaterThanOrEqual(0.9)
  expect(await recall(keyword, QUESTIONS, 4)).toBeGreaterThan(await recall(plain, QUESTIONS, 4))
  expect(await recall(keyword, QUESTIONS, 0)).toBeGreaterThan((await recall(plain, QUESTIONS, 0)) + 0.04)
})

test('a question with several requests finds the tools for each', async () => {
  const several = QUESTIONS.filter(([, ...wanted]) => wanted.length > 1)
  const [keyword, plain] = [await keywordSearch(), plainBm25(TOOLS)]
  expect(await recall(keyword, several, 2)).toBeGreaterThanOrEqual(0.95)
  expect(await recall(keyword, several, 2)).toBeGreaterThan(await recall(plain, several, 2))
})
