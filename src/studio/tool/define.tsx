import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { HistoryEntry } from '../../contract/catalogue.ts'
import { isObject } from '../../contract/json.ts'
import { fetchJson, part } from '../api/session.ts'
import { Diff } from '../part/diff.tsx'
import { Icon } from '../part/icon.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { go, hrefOf } from '../route.ts'
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
      const headers: Record<string, string> = before.value
        ? { 'if-match': `"${before.value.hash}"` }
        : { 'if-none-match': '*' }
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
    <>
      <DefineHead tool={tool} />
      <div class="scroll" tabIndex={0}>
        <div class="page stack">
          <form
            class="stack"
            onSubmit={(event) => {
              event.preventDefault()
              if (fault === '') void store()
            }}
          >
            <p class="dim">
              A tool that is data. It is saved while the edge runs, and each version can be made current again.
            </p>
            {tool === undefined && (
              <Beginning
                name={name.value}
                onName={(value) => (name.value = value)}
                onText={(value) => (text.value = value)}
              />
            )}
            <OfferedField text={text.value} onText={(value) => (text.value = value)} />
            <DefinitionField text={text.value} fault={fault} onText={(value) => (text.value = value)} />
            {before.value && text.value !== before.value.text && fault === '' && (
              <Diff before={before.value.text} after={text.value} />
            )}
            {error.value !== undefined && <ErrorNote error={error.value} />}
            <div class="bar">
              <button class="btn solid" disabled={isBusy.value || fault !== ''}>
                Save tool
              </button>
            </div>
          </form>
          {fault === '' && <Draft name={name.value} json={text.value} />}
        </div>
      </div>
    </>
  )
}

function DefineHead({ tool }: { readonly tool: string | undefined }): JSX.Element {
  return (
    <header class="head">
      <a
        class="btn quiet icon"
        href={hrefOf({ page: 'tools', ...(tool !== undefined && { tool }) })}
        aria-label="Back to the tools"
      >
        <Icon name="back" />
      </a>
      <h1>{tool === undefined ? 'Write a tool' : `Edit ${tool}`}</h1>
    </header>
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
        class="in code tall"
        rows={18}
        spellcheck={false}
        aria-invalid={fault !== ''}
        aria-describedby="definition-fault"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <p id="definition-fault" class="hint fail" aria-live="polite">
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
    <div class="bar wrap">
      <label class="field grow">
        <span class="label">Name</span>
        <input
          class="in"
          required
          pattern="[a-zA-Z0-9_\-]{1,64}"
          title="Letters, digits, _ and -; at most 64"
          value={name}
          onInput={(event) => onName(event.currentTarget.value)}
        />
      </label>
      <label class="field grow">
        <span class="label">What it does</span>
        <select onChange={(event) => onText(written(TEMPLATES[event.currentTarget.value]))}>
          {Object.keys(TEMPLATES).map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </select>
      </label>
    </div>
  )
}

/** Says whether requests that name no tools are offered this one, which is the member `default` of its definition. */
function OfferedField({
  text,
  onText,
}: {
  readonly text: string
  readonly onText: (text: string) => void
}): JSX.Element | null {
  if (faultOf(text) !== '') return null
  const definition: { readonly default?: unknown } = JSON.parse(text)
  const change = (isOffered: boolean) => {
    const { default: _, ...rest } = definition
    onText(written(isOffered ? { ...rest, default: true } : rest))
  }
  const isOffered = definition.default === true
  return (
    <div>
      <label class="check">
        <input type="checkbox" checked={isOffered} onChange={(event) => change(event.currentTarget.checked)} />
        Offer it by default
      </label>
      <p class="hint">
        {isOffered
          ? 'Models get it in every request that names no tools.'
          : 'Models get it on request: if a request names it, or a tool search finds it.'}
      </p>
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
