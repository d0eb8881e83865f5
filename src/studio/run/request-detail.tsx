import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { StepRequest } from '../../contract/conversation.ts'
import { fetchJson, hasScope } from '../api/session.ts'
import { CopyButton } from '../part/copy-button.tsx'
import { curl } from '../part/curl.ts'
import { ErrorNote } from '../part/problem.tsx'
import { quantity } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import type { RunAddress } from '../route.ts'
import { repeatBody } from './repeat-body.ts'
import { runPath } from './run-store.ts'

/** The request that the model got in a step, loaded when it is opened. */
export function RequestDetail({
  step,
  address,
}: {
  readonly step: number
  readonly address: RunAddress
}): JSX.Element | null {
  const request = useSignal<StepRequest | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const load = async () => {
    error.value = undefined
    try {
      request.value = await fetchJson<StepRequest>(`${runPath(address)}/steps/${step}/request`)
    } catch (problem) {
      error.value = problem
    }
  }
  if (!hasScope('tools:admin')) return null
  return (
    <details onToggle={(event) => void (event.currentTarget.open && !request.value && load())}>
      <summary>Request to the model</summary>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {request.value && <Parts request={request.value} />}
    </details>
  )
}

function Parts({ request }: { readonly request: StepRequest }): JSX.Element {
  const { run: _run, step: _step, model, historyLength, hasShortTools, messages, tools, ...options } = request
  return (
    <>
      <p class="hint">
        Requests are not stored. The edge has built this one from the events of the run. Hooks and the format of the
        provider may have changed it.
        {historyLength > 0 &&
          ` ${quantity(historyLength, 'message')} of earlier turns: chosen by the present window, which may have changed.`}
        {hasShortTools && ' The run is pruned: of its tools only names and annotations are left.'}
      </p>
      <p class="bar wrap">
        <code>{model}</code>
        <CopyButton text={() => curl('/runs', repeatBody(request))} what="as cURL" isButton />
      </p>
      <h3>{quantity(messages.length, 'message')}</h3>
      <Value value={messages} label="Messages" />
      <h3>{tools.length === 0 ? 'No tools' : quantity(tools.length, 'tool')}</h3>
      {tools.length > 0 && <Value value={tools} label="Tools" />}
      {Object.keys(options).length > 0 && <Value value={options} label="Options" />}
    </>
  )
}
