/** Returns a Markdown table of rows of cells, the first of them its head, with aligned columns. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const [head = [], ...body] = cells
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[], fill = ' ') =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`
  const rule = line(
    head.map(() => ''),
    '-',
  )
  return `${[line(head), rule, ...body.map((row) => line(row))].join('\n')}\n`
}
