import type { JSX } from 'preact'
import { isObject } from '../../contract/json.ts'
import { visible } from '../../contract/hidden-characters.ts'

type Record = Readonly<{ [name: string]: unknown }>

/** The most columns that a table is read with. */
const MOST_COLUMNS = 8

/** Returns the records of a list that reads well as a table: at least two, flat, with nearly the same names. */
export function rowsOf(value: unknown): readonly Record[] | undefined {
  if (!Array.isArray(value) || value.length < 2 || value.length > 500) return undefined
  const rows = value.filter((row): row is Record => isObject(row) && Object.values(row).every(isPlain))
  const columns = columnsOf(rows)
  const isFull = rows.every((row) => Object.keys(row).length * 2 >= columns.length)
  const isTable = rows.length === value.length && columns.length > 1 && columns.length <= MOST_COLUMNS && isFull
  return isTable ? rows : undefined
}

/** A list of flat records, with a column for each name. */
export function Table({ rows }: { readonly rows: readonly Record[] }): JSX.Element {
  const columns = columnsOf(rows)
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {visible(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map((name) => (
                <td key={name} class={typeof row[name] === 'number' ? 'number' : ''}>
                  {cellText(row[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function cellText(value: unknown): string {
  return typeof value === 'string' ? visible(value) : value === undefined ? '' : JSON.stringify(value)
}

function columnsOf(rows: readonly Record[]): string[] {
  return [...new Set(rows.flatMap(Object.keys))]
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}
