import type { ComponentChildren, JSX } from 'preact'
import { CopyButton } from './copy-button.tsx'
import { type CodeToken, highlight } from './highlight.ts'
import { visible } from '../../contract/hidden-characters.ts'

interface CodeProps {
  readonly code: string
  readonly language: string
  /** What the code is, for readers who do not see it. */
  readonly label: string
  /** What stands above it. Default: its language. */
  readonly title?: string
}

/** Code with its language, colours and a button to copy it. */
export function CodeBox({ code, language, label, title = language }: CodeProps): JSX.Element {
  return (
    <div class="codebox">
      <div class="codehead">
        <span>{visible(title) || 'text'}</span>
        <CopyButton text={() => code} what={label} />
      </div>
      <pre class="code" tabIndex={0} aria-label={label}>
        {highlight(code, language.toLowerCase()).map(token)}
      </pre>
    </div>
  )
}

function token({ kind, text }: CodeToken, index: number): ComponentChildren {
  return kind === '' ? (
    visible(text)
  ) : (
    <span key={index} class={kind}>
      {visible(text)}
    </span>
  )
}

interface NumberedProps extends CodeProps {
  /** Words beside lines, by the number of the line from 1. */
  readonly notes: ReadonlyMap<number, string>
  /** The line that failed. */
  readonly badLine?: number | undefined
}

/** Code with the numbers of its lines, and words beside some of them. */
export function NumberedCode({ code, language, label, notes, badLine }: NumberedProps): JSX.Element {
  const lines = linesOf(highlight(code, language))
  return (
    <pre class="code lines" tabIndex={0} aria-label={label}>
      {lines.map((tokens, index) => (
        <span key={index} class={index + 1 === badLine ? 'is-bad' : ''}>
          {tokens.map(token)}
          {notes.has(index + 1) && <small class="linenote">{notes.get(index + 1)}</small>}
        </span>
      ))}
    </pre>
  )
}

/** Splits tokens at the ends of lines. */
function linesOf(tokens: readonly CodeToken[]): CodeToken[][] {
  const lines: CodeToken[][] = [[]]
  for (const { kind, text } of tokens) {
    const [first = '', ...others] = text.split('\n')
    lines.at(-1)?.push({ kind, text: first })
    for (const other of others) lines.push([{ kind, text: other }])
  }
  return lines
}
