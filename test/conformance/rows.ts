import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

/** A row of a library's own tests, and what we make of it. */
export interface Row {
  /** Its number in the list; the rows are numbered from 1 without gaps. */
  readonly row: number
  /** What the library's test says, in our words. */
  readonly says: string
  readonly verdict: Verdict
}

export type Verdict =
  /** We do the same; the case shows it. */
  | { readonly kind: 'same'; readonly run: Case }
  /** We do otherwise on purpose; the case shows what, and the reason says why. */
  | { readonly kind: 'different'; readonly why: string; readonly run: Case }
  /** It is about something that does not exist here. */
  | { readonly kind: 'not applicable'; readonly why: string }

type Case = () => Promise<void> | void

export const same = (run: Case): Verdict => ({ kind: 'same', run })
export const different = (why: string, run: Case): Verdict => ({ kind: 'different', why, run })
export const notApplicable = (why: string): Verdict => ({ kind: 'not applicable', why })

/** At most so many of a hundred rows may be about something that does not exist here. */
const MOST_NOT_APPLICABLE = 15

/** What rows are about: from this one on, the names of the library by which a migrant looks them up. */
export type Subjects = readonly (readonly [from: number, names: string])[]

/** Returns the names of the library that a row is about. */
function subjectOf(subjects: Subjects, row: number): string {
  return subjects.findLast(([from]) => from <= row)?.[1] ?? ''
}

/** Registers a case for each row, named after its subject, and checks that the list is whole and that the table in README.md tells of it. */
export function conformance(library: string, total: number, subjects: Subjects, rows: readonly Row[]): void {
  describe(library, () => {
    for (const { row, says, verdict } of rows) {
      const name = `${row}. ${subjectOf(subjects, row)}: ${says}`
      if (verdict.kind === 'same') test(name, verdict.run)
      else if (verdict.kind === 'different') test(`${name} — deliberately different: ${verdict.why}`, verdict.run)
      else test.skip(`${name} — not applicable: ${verdict.why}`)
    }

    test('has a row for each test, and few that are not applicable', () => {
      expect(rows.map(({ row }) => row)).toEqual(Array.from({ length: total }, (_, index) => index + 1))
      const inapplicable = rows.filter(({ verdict }) => verdict.kind === 'not applicable')
      expect(inapplicable.length).toBeLessThanOrEqual((total * MOST_NOT_APPLICABLE) / 100)
    })

    test('the table in README.md counts the rows as they are', () => {
      const table = readFileSync(new URL('README.md', import.meta.url).pathname, 'utf8')
      expect(table.replace(/ {2,}/g, ' ')).toContain(lineOf(library, rows))
    })
  })
}

/** The line of the table for a library: rows, and how many of each kind. */
function lineOf(library: string, rows: readonly Row[]): string {
  const count = (kind: Verdict['kind']) => rows.filter(({ verdict }) => verdict.kind === kind).length
  const kinds = ['same', 'different', 'not applicable'] as const
  return `| ${[library, rows.length, ...kinds.map(count)].join(' | ')} |`
}
