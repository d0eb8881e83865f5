import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKeywordIndex } from '../../src/search/keyword-index.ts'
import { definitionOfRow, partFound } from '../search/labelled.ts'
import { plainBm25 } from '../search/plain-bm25.ts'

const MOST_MATCHES = 5

interface SetTool {
  readonly name: string
  readonly description: string
  /** Descriptions by name. */
  readonly parameters?: Readonly<Record<string, string>>
}

interface SetQuery {
  readonly query: string
  /** Names of the tools that are right. */
  readonly tools: readonly string[]
}

/**
 * How well labelled sets of your own are found, beside plain BM25: of each set, `NAME.tools.jsonl` and
 * `NAME.queries.jsonl` in a folder, a tool or a query a line.
 */
export async function benchRecall(folder: string): Promise<void> {
  const sets = readdirSync(folder).flatMap((file) => /^(.+)\.tools\.jsonl$/.exec(file)?.[1] ?? [])
  if (sets.length === 0) throw new Error(`There is no NAME.tools.jsonl in ${folder}`)
  for (const name of sets) {
    const tools = readLines(join(folder, `${name}.tools.jsonl`)).map((line): SetTool => JSON.parse(line))
    const queries = readLines(join(folder, `${name}.queries.jsonl`)).map((line): SetQuery => JSON.parse(line))
    const index = createKeywordIndex()
    const rows = tools.map(({ name, description, parameters = {} }) => [name, description, parameters] as const)
    await index.add(rows.map(definitionOfRow))
    const plain = plainBm25(rows)
    let [matches, plainly] = [0, 0]
    for (const { query, tools: wanted } of queries) {
      matches += partFound(
        wanted,
        (await index.search(query, MOST_MATCHES)).map((tool) => tool.name),
      )
      plainly += partFound(wanted, plain(query, MOST_MATCHES))
    }
    const percent = (sum: number) => ((100 * sum) / queries.length).toFixed(1)
    console.log(
      `${name.padEnd(30)} ${tools.length} tools, ${queries.length} queries: recall@${MOST_MATCHES} ${percent(matches)}, plain BM25 ${percent(plainly)}`,
    )
  }
}

function readLines(file: string): readonly string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
}
