import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { EdgecallError } from '../../client/error.ts'
import type { DefinitionIssue } from '../../contract/definition.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { fetchJson, part } from '../api/session.ts'
import { ErrorNote } from '../part/problem.tsx'
import { visible } from '../part/text.ts'
import { CallForm } from './call-form.tsx'

/** What the edge says of a definition that it could store. */
interface Checked {
  readonly definition: ToolDefinition
  readonly change: 'created' | 'unchanged' | 'compatible' | 'breaking'
  readonly breaks: readonly DefinitionIssue[]
  readonly warnings: readonly DefinitionIssue[]
}

/** How long the text must stay the same before it is checked, in milliseconds. */
const PAUSE_MS = 400

const CHANGES: Readonly<Record<Checked['change'], string>> = {
  created: 'Valid. Storing it adds a tool.',
  unchanged: 'Valid. It is the same as the stored version.',
  compatible: 'Valid. Calls that models make by the stored version stay valid.',
  breaking: 'Valid, but it breaks calls that models make by the stored version:',
}

export interface DraftProps {
  readonly name: string
  /** The definition, as JSON. */
  readonly json: string
}

/** Has the edge check a definition that is not stored, while it is written, and calls it. */
export function Draft({ name, json }: DraftProps): JSX.Element {
  const checked = useSignal<Checked | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  useEffect(() => {
    checked.value = error.value = undefined
    if (name === '') return undefined
    const abort = new AbortController()
    const { signal } = abort
    const timer = setTimeout(() => {
      fetchJson<Checked>(`/tools/${part(name)}/check`, { json: definitionOf(name, json), signal }).then(
        (value) => void (checked.value = value),
        (problem: unknown) => void (signal.aborted || (error.value = problem)),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [name, json])
  const { definition, change, breaks, warnings } = checked.value ?? {}
  return (
    <section aria-labelledby="check">
      <h2 id="check">Check</h2>
      <div aria-live="polite">
        {error.value !== undefined && <Refusal error={error.value} />}
        {change && <p class="note">{CHANGES[change]}</p>}
        {breaks && breaks.length > 0 && <Issues issues={breaks} />}
        {warnings && warnings.length > 0 && <Issues issues={warnings} />}
      </div>
      {definition && (
        <details>
          <summary>Try it before it is stored</summary>
          <CallForm
            key={definition.hash}
            tool={{ ...definition, source: 'kv', place: '', available: true }}
            definition={definitionOf(name, json)}
          />
        </details>
      )}
    </section>
  )
}

function definitionOf(name: string, json: string): object {
  return { ...Object(JSON.parse(json)), name }
}

/** Why the edge would not store a definition, one line for each fault. */
function Refusal({ error }: { readonly error: unknown }): JSX.Element {
  const issues = error instanceof EdgecallError ? error.issues : []
  return issues.length > 0 ? <Issues issues={issues} /> : <ErrorNote error={error} />
}

function Issues({ issues }: { readonly issues: readonly DefinitionIssue[] }): JSX.Element {
  return (
    <ul class="fault">
      {issues.map(({ path, message }) => (
        <li key={path + message}>
          {path !== '' && <code>{visible(path)}</code>} {visible(message)}
        </li>
      ))}
    </ul>
  )
}
