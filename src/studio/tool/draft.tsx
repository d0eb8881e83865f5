import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { DefinitionIssue } from '../../contract/definition.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { fetchJson, part } from '../api/session.ts'
import { ErrorNote } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { CallForm } from './call-form.tsx'

/** What the edge says of a definition. */
type Answer = Checked | { readonly valid: false; readonly issues: readonly DefinitionIssue[] }

/** A definition that could be stored, and what that would change. */
interface Checked {
  readonly valid: true
  readonly definition: ToolDefinition
  readonly change: 'created' | 'unchanged' | 'compatible' | 'breaking'
  readonly breaks: readonly DefinitionIssue[]
  readonly warnings: readonly DefinitionIssue[]
}

/** How long the text must stay the same before it is checked, in milliseconds. */
const PAUSE_MS = 400

const CHANGES: Readonly<Record<Checked['change'], string>> = {
  created: 'Valid. Saving it adds a tool.',
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
  const answer = useSignal<Answer | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  useEffect(() => {
    answer.value = error.value = undefined
    if (name === '') return undefined
    const abort = new AbortController()
    const { signal } = abort
    const timer = setTimeout(() => {
      fetchJson<Answer>(`/tools/${part(name)}/check`, { json: definitionOf(name, json), signal }).then(
        (value) => void (answer.value = value),
        (problem: unknown) => void (signal.aborted || (error.value = problem)),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [name, json])
  const { definition, change, breaks, warnings } = checkedOf(answer.value)
  return (
    <section aria-labelledby="check">
      <h2 id="check">Check</h2>
      <div aria-live="polite">
        {error.value !== undefined && <ErrorNote error={error.value} />}
        {answer.value?.valid === false && <Issues issues={answer.value.issues} />}
        {change && <p class="hint">{CHANGES[change]}</p>}
        {breaks && breaks.length > 0 && <Issues issues={breaks} />}
        {warnings && warnings.length > 0 && <Issues issues={warnings} />}
      </div>
      {definition && (
        <details>
          <summary>Try it before it is saved</summary>
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

function checkedOf(answer: Answer | undefined): Partial<Checked> {
  return answer?.valid ? answer : {}
}

function definitionOf(name: string, json: string): object {
  return { ...Object(JSON.parse(json)), name }
}

/** One line for each fault. */
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
