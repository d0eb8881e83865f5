import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { HistoryEntry } from '../../contract/catalogue.ts'
import { isObject } from '../../contract/json.ts'
import { fetchJson, part } from '../api/session.ts'
import { Diff } from '../part/diff.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { go } from '../route.ts'
import { loadTools } from './catalogue.ts'
import { Draft } from './draft.tsx'
import { TEMPLATES } from './templates.ts'

/** Writes a stored definition: a new one from a template, or another version of one that is there. */
export function Define({ tool }: { readonly tool?: string }): JSX.Element {
  const name = useSignal(tool ?? '')
  const text = useSignal(tool === undefined ? written(Object.values(TEMPLATES)[0]) : '')
  const before = useSignal<{ readonly text: string; readonly hash: string } | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  useEffect(() => {
    if (tool === undefined) return
    loadCurrent(tool).then(
      (current) => {
        before.value = current
        text.value = current.text
      },
      (problem: unknown) => (error.value = problem),
    )
  }, [tool])
  const fault = faultOf(text.value)
  const store = async () => {
    isBusy.value = true
    error.value = undefined
    try {
      const json: unknown = JSON.parse(text.value)
      // Another version that was stored meanwhile is not overwritten unseen.
      const headers = before.value ? { 'if-match': `"${before.value.hash}"` } : { 'if-none-match': '*' }
      await fetchJson(`/tools/${part(name.value)}`, {
        method: 'PUT',
        json: { name: name.value, ...Object(json) },
        headers,
      })
      await loadTools()
      go({ page: 'tools', tool: name.value })
    } catch (problem) {
      error.value = problem
    }
    isBusy.value = false
  }
  return (
    <div class="page">
      <form
        class="part"
        onSubmit={(event) => {
          event.preventDefault()
          if (fault === '') void store()
        }}
      >
        <h1>{tool === undefined ? 'New definition' : `Edit ${tool}`}</h1>
        <p class="note">A tool that is data: it is stored while the edge runs, and its versions are kept.</p>
        {tool === undefined && (
          <Beginning
            name={name.value}
            onName={(value) => (name.value = value)}
            onText={(value) => (text.value = value)}
          />
        )}
        <DefinitionField text={text.value} fault={fault} onText={(value) => (text.value = value)} />
        {before.value && text.value !== before.value.text && fault === '' && (
          <Diff before={before.value.text} after={text.value} />
        )}
        {error.value !== undefined && <ErrorNote error={error.value} />}
        <div class="line end">
          <button class="main" disabled={isBusy.value || fault !== ''}>
            Store
          </button>
        </div>
      </form>
      {fault === '' && <Draft name={name.value} json={text.value} />}
    </div>
  )
}

interface DefinitionFieldProps {
  readonly text: string
  /** What is wrong with the text; empty if it may be a definition. */
  readonly fault: string
  readonly onText: (text: string) => void
}

function DefinitionField({ text, fault, onText }: DefinitionFieldProps): JSX.Element {
  return (
    <div class="field">
      <label for="definition">Definition</label>
      <textarea
        id="definition"
        class="code tall"
        rows={18}
        spellcheck={false}
        aria-invalid={fault !== ''}
        aria-describedby="definition-fault"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <p id="definition-fault" class="fault" aria-live="polite">
        {text !== '' && fault}
      </p>
    </div>
  )
}

interface BeginningProps {
  readonly name: string
  readonly onName: (name: string) => void
  readonly onText: (text: string) => void
}

function Beginning({ name, onName, onText }: BeginningProps): JSX.Element {
  return (
    <div class="line">
      <label class="grow">
        Name
        <input
          required
          pattern="[a-zA-Z0-9_\-]{1,64}"
          title="Letters, digits, _ and -; at most 64"
          value={name}
          onInput={(event) => onName(event.currentTarget.value)}
        />
      </label>
      <label>
        Begin with
        <select onChange={(event) => onText(written(TEMPLATES[event.currentTarget.value]))}>
          {Object.keys(TEMPLATES).map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </select>
      </label>
    </div>
  )
}

async function loadCurrent(tool: string): Promise<{ text: string; hash: string }> {
  const path = `/tools/${part(tool)}/versions`
  const [newest] = await fetchJson<HistoryEntry[]>(`${path}?limit=1`)
  const hash = newest?.hash ?? ''
  return { text: written(await fetchJson<unknown>(`${path}/${part(hash)}`)), hash }
}

/** Why a text is not the JSON of an object; empty if it is. */
function faultOf(text: string): string {
  try {
    return isObject(JSON.parse(text)) ? '' : 'A definition is a JSON object.'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function written(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
