import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { StoredFault } from '../../contract/thrown.ts'
import { fetchJson, hasScope } from '../api/session.ts'
import { ErrorNote } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { duration, moment } from '../part/text.ts'
import type { RunAddress } from '../route.ts'
import { runPath } from './run-store.ts'

interface FaultProps {
  readonly address: RunAddress
  /** Whether they are shown at once, if the key may see them. Default: once a person asks for them. */
  readonly isOpen?: boolean
  /** Which faults of the run are shown. Default: all. */
  readonly isShown?: (fault: StoredFault) => boolean
}

/** What operators are told of the faults of a run, loaded when it is opened. */
export function FaultDetail({ address, isOpen = false, isShown = () => true }: FaultProps): JSX.Element | null {
  const faults = useSignal<readonly StoredFault[] | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const load = async () => {
    error.value = undefined
    try {
      faults.value = (await fetchJson<{ faults: StoredFault[] }>(`${runPath(address)}/faults`)).faults
    } catch (problem) {
      error.value = problem
    }
  }
  const matches = faults.value?.filter(isShown)
  if (!hasScope('tools:admin')) return null
  return (
    <details open={isOpen} onToggle={(event) => void (event.currentTarget.open && !faults.value && load())}>
      <summary>Cause, for operators</summary>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {matches?.length === 0 && <p class="hint">Nothing more is stored about it.</p>}
      {matches?.map((fault, index) => (
        <Fault key={index} fault={fault} />
      ))}
    </details>
  )
}

function Fault({ fault }: { readonly fault: StoredFault }): JSX.Element {
  const { at, code, model, tool, status, attempts, durationMs, isRetried, detail } = fault
  const facts = [
    moment(at),
    model ?? tool,
    status !== undefined && `status ${status}`,
    attempts !== undefined && attempts > 1 && `${attempts} attempts`,
    durationMs !== undefined && duration(durationMs),
    isRetried && 'tried again',
  ]
  return (
    <>
      <p class="hint">
        <code>{code}</code> {facts.filter(Boolean).join(', ')}
      </p>
      {detail !== undefined && <pre class="code wrap">{visible(detail)}</pre>}
    </>
  )
}
