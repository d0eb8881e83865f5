import type { Bundle } from './bundle.ts'
import type { Manifest } from './record.ts'

const HASH_LETTERS = 12

/** Formats the sizes of built Workers. */
export function sizesText(bundles: readonly Bundle[]): string {
  const rows = bundles.map(({ target, size, gzip }) => [target.name, kib(size), kib(gzip)])
  return table([['Worker', 'size', 'gzip'], ...rows])
}

/** Formats what a deployment left in the account. */
export function manifestText({ workers, definitions }: Manifest): string {
  const rows = workers.map(({ name, version, hash, size, gzip, address, rollout }) => [
    name,
    rollout ? `${version} (${rollout.percent} % ${rollout.version})` : version,
    hash.slice(0, HASH_LETTERS),
    kib(size),
    kib(gzip),
    address ?? '',
  ])
  const stored = definitions.map(({ name, hash }) => [name, 'definition', hash.slice(0, HASH_LETTERS), '', '', ''])
  return table([['name', 'version', 'hash', 'size', 'gzip', 'address'], ...rows, ...stored])
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(2)} KiB`
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        /KiB$|^size$|^gzip$/.test(cell) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return `${rows.map(line).join('\n')}\n`
}
