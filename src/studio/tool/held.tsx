import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { part, send } from '../api/session.ts'
import { Problem } from '../part/problem.tsx'
import { visible } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import { hrefOf } from '../route.ts'
import { type ListedTool, loadTools } from './catalogue.ts'

/** A tool that is held back because it has changed: what it says now, and the button that accepts it. */
export function HeldTool({ tool }: { readonly tool: ListedTool }): JSX.Element {
  const error = useSignal<unknown>(undefined)
  const { name, description = '', inputSchema, outputSchema, annotations, hash, place, reason } = tool
  const accept = async () => {
    try {
      await send(`/tools/${part(name)}/accept`, { json: { hash } })
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
        <span class="note">
          of {place}: {reason}
        </span>
      </p>
      <Value value={{ description: visible(description), inputSchema, outputSchema, annotations }} label="Definition" />
      {error.value !== undefined && <Problem error={error.value} />}
      <div class="line end">
        <button type="button" class="main" onClick={accept}>
          Accept it as it is now
        </button>
      </div>
    </section>
  )
}
