import type { JSX } from 'preact'
import { diffLines, type DiffLine } from './line-diff.ts'
import { visible } from '../../contract/hidden-characters.ts'

const SIGN = { same: ' ', added: '+', removed: '−' }
/** The unchanged lines that stay on each side of a change. */
const AROUND = 3

/** What changed from one value to another, line by line of their JSON; long unchanged parts are left out. */
export function Diff({ before, after }: { readonly before: unknown; readonly after: unknown }): JSX.Element {
  const lines = diffLines(written(before), written(after))
  if (lines.every(({ kind }) => kind === 'same')) return <p class="hint">Nothing differs.</p>
  return (
    <pre class="diff" tabIndex={0} aria-label="Differences">
      {lines.map((line, index) => {
        if (isNear(lines, index)) return <Line key={index} line={line} />
        return isNear(lines, index - 1) ? <span key={index}>{'  …\n'}</span> : null
      })}
    </pre>
  )
}

function Line({ line: { kind, text } }: { readonly line: DiffLine }): JSX.Element {
  const content = `${SIGN[kind]} ${visible(text)}\n`
  if (kind === 'same') return <span>{content}</span>
  return kind === 'added' ? <ins>{content}</ins> : <del>{content}</del>
}

function isNear(lines: readonly DiffLine[], index: number): boolean {
  return lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ kind }) => kind !== 'same')
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
