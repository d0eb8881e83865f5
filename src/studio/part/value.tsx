import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { isObject } from '../../contract/json.ts'
import { CopyButton } from './copy-button.tsx'
import { Table, rowsOf } from './table.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { quantity, shortened } from './text.ts'

/** Texts longer than this are folded. */
const LONG_TEXT = 600
/** Objects and lists deeper than this, or longer, begin folded. */
const OPEN_DEPTH = 2
const OPEN_ENTRIES = 24
/** The entries that are shown before a person asks for the others. */
const MOST_ENTRIES = 200

/** Shows a JSON value as a tree with its types; a list of similar records is shown as a table. */
export function Value({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return (
    <div class="value" role="group" aria-label={label}>
      <CopyButton text={() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))} what={label} />
      <Node value={value} depth={0} />
    </div>
  )
}

function Node({ value, depth }: { readonly value: unknown; readonly depth: number }): JSX.Element {
  if (typeof value === 'string') return <Text text={value} isQuoted={depth > 0} />
  if (typeof value === 'number') return <span class="number">{String(value)}</span>
  if (!Array.isArray(value) && !isObject(value)) return <span class="word">{String(value)}</span>
  const rows = rowsOf(value)
  if (rows) return <Table rows={rows} />
  const entries = Object.entries(value)
  if (entries.length === 0) return <span class="word">{Array.isArray(value) ? 'empty list' : 'empty object'}</span>
  return <Entries entries={entries} isList={Array.isArray(value)} depth={depth} />
}

interface EntriesProps {
  readonly entries: readonly (readonly [string, unknown])[]
  readonly isList: boolean
  readonly depth: number
}

function Entries({ entries, isList, depth }: EntriesProps): JSX.Element {
  const most = useSignal(MOST_ENTRIES)
  const list = (
    <ul class={isList ? 'tree list' : 'tree'}>
      {entries.slice(0, most.value).map(([name, value]) => (
        <li key={name}>
          <span class="key">{visible(name)}</span> <Node value={value} depth={depth + 1} />
        </li>
      ))}
      {entries.length > most.value && (
        <li>
          <button type="button" class="link" onClick={() => (most.value += 10 * MOST_ENTRIES)}>
            Show more of {quantity(entries.length, 'entry').replace('entrys', 'entries')}
          </button>
        </li>
      )}
    </ul>
  )
  if (depth === 0) return list
  return (
    <details open={depth < OPEN_DEPTH && entries.length <= OPEN_ENTRIES}>
      <summary>
        {isList ? quantity(entries.length, 'item') : `{ ${shortened(entries.map(([name]) => name).join(', '), 40)} }`}
      </summary>
      {list}
    </details>
  )
}

function Text({ text, isQuoted }: { readonly text: string; readonly isQuoted: boolean }): JSX.Element {
  const isWhole = useSignal(false)
  const excerpt = isWhole.value ? text : shortened(text, LONG_TEXT)
  return (
    <>
      <span class={isQuoted ? 'string' : 'plain'}>{visible(excerpt)}</span>
      {text.length > LONG_TEXT && (
        <button type="button" class="link" onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </button>
      )}
    </>
  )
}
