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
    <section class="decision" aria-label={`Accept ${name}?`}>
      <p>
        <a href={hrefOf({ page: 'tools', tool: name })}>
          <b>{name}</b>
        </a>{' '}
        <span class="note">of {place} has changed since it was accepted, so it is not called.</span>
      </p>
      {before ? (
        <Diff before={definedFieldsOf(before)} after={definedFieldsOf(tool)} />
      ) : (
        !state.value.isLoading && (
          <>
            <p class="note">What was accepted is not known here. This is what it says now.</p>
            <Value value={definedFieldsOf(tool)} label="Definition" />
          </>
        )
      )}
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <div class="line end">
        <button type="button" class="main" disabled={state.value.isLoading} onClick={accept}>
          Accept it as it is now
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
