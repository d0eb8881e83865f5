import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLoaded } from '../api/loaded.ts'
import { fetchJson, part, sendRequest } from '../api/session.ts'
import { Diff } from '../part/diff.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { Value } from '../part/value.tsx'
import { hrefOf } from '../route.ts'
import { type CatalogueTool, loadTools } from './catalogue.ts'

/** A tool that is held back because it has changed: what differs from what was accepted, and the button to accept it. */
export function HeldTool({ tool }: { readonly tool: CatalogueTool }): JSX.Element {
  const error = useSignal<unknown>(undefined)
  const { name, hash, accepted, place } = tool
  const path = `/tools/${part(name)}`
  const { state } = useLoaded(
    async () => (accepted ? fetchJson<CatalogueTool>(`${path}/versions/${part(accepted)}`) : undefined),
    [name, accepted],
  )
  const before = state.value.value
  const accept = async () => {
    try {
      await sendRequest(`${path}/accept`, { json: { hash } })
      await loadTools()
    } catch (problem) {
      error.value = problem
    }
  }
  return (
    <section class="panel" aria-label={`Accept ${name}?`}>
      <div class="pad stack2">
        <p>
          <a class="link" href={hrefOf({ page: 'tools', tool: name })}>
            <b>{name}</b>
          </a>{' '}
          <span class="dim">of {place} has changed since it was accepted. It is not called until you accept it.</span>
        </p>
        {before ? (
          <Diff before={definedFieldsOf(before)} after={definedFieldsOf(tool)} />
        ) : (
          !state.value.isLoading && (
            <>
              <p class="dim">The version that was accepted is not stored; this is today’s.</p>
              <Value value={definedFieldsOf(tool)} label="Definition" />
            </>
          )
        )}
        {error.value !== undefined && <ErrorNote error={error.value} />}
      </div>
      <div class="act">
        <span class="grow" />
        <button type="button" class="btn solid" disabled={state.value.isLoading} onClick={accept}>
          Accept today’s version
        </button>
      </div>
    </section>
  )
}

/** What a tool says of itself: what models read, and what the edge goes by. */
function definedFieldsOf(tool: CatalogueTool): object {
  const { source: _, place: _place, available: _available, reason: _reason, accepted: _accepted, ...definition } = tool
  const { name: _name, hash: _hash, version: _version, ...definedFields } = definition
  return definedFields
}
