import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { HistoryEntry } from '../../contract/catalogue.ts'
import { useLoaded } from '../api/loaded.ts'
import { fetchJson, part, sendRequest } from '../api/session.ts'
import { Diff } from '../part/diff.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { moment } from '../part/text.ts'
import { Value } from '../part/value.tsx'

interface VersionsProps {
  readonly name: string
  readonly current: string | undefined
  readonly onChange: () => void
}

/** The history of a stored definition: what each version changed, and a way back to it. */
export function Versions({ name, current, onChange }: VersionsProps): JSX.Element {
  const path = `/tools/${part(name)}`
  const { state, reload } = useLoaded(() => fetchJson<HistoryEntry[]>(`${path}/versions`), [name, current])
  const error = useSignal<unknown>(undefined)
  const rollback = async (hash: string) => {
    try {
      await sendRequest(`${path}/rollback`, { json: { hash } })
      onChange()
      reload()
    } catch (problem) {
      error.value = problem
    }
  }
  const entries = state.value.value ?? []
  const newest = entries[0]?.hash
  return (
    <>
      <h3>Versions</h3>
      {(error.value ?? state.value.error) !== undefined && <ErrorNote error={error.value ?? state.value.error} />}
      <ol class="versions">
        {entries.map((entry, index) => {
          const { revision, action, hash, by, at, change } = entry
          const before = entries.slice(index + 1).find((each) => each.hash !== undefined)?.hash
          return (
            <li key={revision}>
              <p>
                <b>{action}</b>
                {change && <span class={change === 'breaking' ? 'badge bad' : 'badge'}>{change}</span>}
                <span class="hint">
                  {moment(Date.parse(at))} by {by?.key ?? by?.tenant ?? 'the edge'}
                </span>
                {hash !== undefined && hash !== newest && (
                  <button type="button" class="link" onClick={() => rollback(hash)}>
                    Roll back to this
                  </button>
                )}
              </p>
              {hash !== undefined && <VersionDiff path={path} before={before} after={hash} />}
            </li>
          )
        })}
      </ol>
    </>
  )
}

interface VersionDiffProps {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
}

/** What a version changed, loaded when it is asked for. */
function VersionDiff({ path, before, after }: VersionDiffProps): JSX.Element {
  const loaded = useSignal<{ before: unknown; after: unknown } | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const version = (hash: string) => fetchJson<unknown>(`${path}/versions/${part(hash)}`)
  const load = async () => {
    try {
      const [old, next] = await Promise.all([before === undefined ? '' : version(before), version(after)])
      loaded.value = { before: old, after: next }
    } catch (problem) {
      error.value = problem
    }
  }
  return (
    <details onToggle={(event) => void (event.currentTarget.open && !loaded.value && load())}>
      <summary>{before === undefined ? 'What was stored' : 'What changed'}</summary>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {loaded.value && before === undefined && <Value value={loaded.value.after} label="Definition" />}
      {loaded.value && before !== undefined && <Diff {...loaded.value} />}
    </details>
  )
}
