import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLoaded } from '../api/loaded.ts'
import { fetchJson, hasScope, part, sendRequest } from '../api/session.ts'
import { Dialog } from '../part/dialog.tsx'
import { FaultNote, ErrorNote } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { Value } from '../part/value.tsx'
import { go, hrefOf } from '../route.ts'
import { Badges } from './badges.tsx'
import { CallForm } from './call-form.tsx'
import { isHeld, type CatalogueTool, loadTools } from './catalogue.ts'
import { HeldTool } from './held.tsx'
import { Policies } from './policies.tsx'
import { TrialForm } from './trial-form.tsx'
import { Versions } from './versions.tsx'

/** One tool: what models are told of it, a form to call it, and for a stored one its versions. */
export function ToolView({ name }: { readonly name: string }): JSX.Element {
  const { state, reload } = useLoaded(() => fetchJson<CatalogueTool>(`/tools/${part(name)}`), [name])
  const { value: tool, error } = state.value
  return (
    <>
      {error !== undefined && <ErrorNote error={error} />}
      {tool && <About tool={tool} onChange={reload} />}
    </>
  )
}

function About({ tool, onChange }: { readonly tool: CatalogueTool; readonly onChange: () => void }): JSX.Element {
  const { name, title, description = '', available, reason = '', source, place, version, approval } = tool
  const isStored = source === 'kv'
  return (
    <article class="detail" aria-label={`Tool ${name}`}>
      <header>
        <h2>{visible(title ?? name)}</h2>
        <code class="faint">{name}</code>
        <span class="grow" />
        {isStored && <Stored name={name} />}
      </header>
      <div class="pad stack narrow">
        <p class="bar wrap">
          <Badges tool={tool} />
        </p>
        {!available && !isHeld(tool) && <FaultNote code="unavailable" message={reason} />}
        {isHeld(tool) ? <HeldTool tool={tool} /> : <p class="text">{visible(description)}</p>}
        {available && hasScope('chat') && <CallForm tool={tool} />}
        {available && hasScope('chat') && (
          <details>
            <summary>Try its description with questions</summary>
            <TrialForm tool={tool} />
          </details>
        )}
        <h3>Definition</h3>
        <dl class="facts">
          <Fact name="Source" value={`${place} (${source})`} />
          {available && tool.offered !== undefined && (
            <Fact
              name="Offered"
              value={tool.offered ? 'by default' : 'on request: to requests that name it, and by tool search'}
            />
          )}
          {version && <Fact name="Version" value={version} />}
          {typeof approval === 'object' && (
            <Fact name="Approval" value={`needed unless ${JSON.stringify(approval.unless)}`} />
          )}
          {tool.timeoutMs !== undefined && <Fact name="Time limit" value={`${tool.timeoutMs} ms`} />}
          {tool.tags && <Fact name="Tags" value={tool.tags.join(', ')} />}
        </dl>
        {tool.inputSchema && (
          <details>
            <summary>Input schema</summary>
            <Value value={tool.inputSchema} label="Input schema" />
          </details>
        )}
        {tool.outputSchema && (
          <details>
            <summary>Output schema</summary>
            <Value value={tool.outputSchema} label="Output schema" />
          </details>
        )}
        {tool.policies && <Policies policies={tool.policies} />}
        {isStored && <Versions name={name} current={tool.hash} onChange={onChange} />}
      </div>
    </article>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{visible(value)}</dd>
    </>
  )
}

/** What can be done with a stored definition as a whole. */
function Stored({ name }: { readonly name: string }): JSX.Element {
  const isRemoving = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const remove = async () => {
    try {
      await sendRequest(`/tools/${part(name)}`, { method: 'DELETE' })
      await loadTools()
      go({ page: 'tools' })
    } catch (problem) {
      error.value = problem
    }
  }
  return (
    <>
      <a class="btn" href={hrefOf({ page: 'define', tool: name })}>
        Edit
      </a>
      <button type="button" class="btn quiet" onClick={() => (isRemoving.value = true)}>
        Remove
      </button>
      {isRemoving.value && (
        <Dialog title={`Remove ${name}?`} onClose={() => (isRemoving.value = false)}>
          <p class="dim">Models can no longer call it. Its versions stay, and any of them can be made current again.</p>
          {error.value !== undefined && <ErrorNote error={error.value} />}
          <div class="bar">
            <span class="grow" />
            <button type="button" class="btn" onClick={() => (isRemoving.value = false)}>
              Cancel
            </button>
            <button type="button" class="btn danger" onClick={remove}>
              Remove
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
