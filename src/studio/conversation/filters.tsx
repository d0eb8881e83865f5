import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { RUN_STATUSES } from '../../contract/run.ts'
import { toolList } from '../tool/catalogue.ts'

interface FiltersProps {
  /** A query of `GET /runs`. */
  readonly filter: string
  readonly onChange: (query: URLSearchParams) => void
}

/** The fields that select runs. Those that are rarely used are folded away until one of them is set. */
export function Filters({ filter, onChange }: FiltersProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null)
  const query = new URLSearchParams(filter)
  const valueOf = (name: string) => query.get(name) ?? ''
  const change = () => {
    const entries = form.current ? [...new FormData(form.current)] : []
    const isSet = (entry: [string, FormDataEntryValue]): entry is [string, string] =>
      typeof entry[1] === 'string' && entry[1].trim() !== ''
    onChange(new URLSearchParams(entries.filter(isSet)))
  }
  const isMoreSet = ['error', 'cost', 'duration', 'from', 'to'].some((name) => query.has(name))
  return (
    <form ref={form} class="filters" role="search" onInput={change} onSubmit={(event) => event.preventDefault()}>
      <div class="line">
        <input
          class="grow"
          type="search"
          name="query"
          placeholder="Search what was asked, or an id"
          aria-label="Search conversations"
          defaultValue={valueOf('query')}
        />
        <select name="status" aria-label="Status" defaultValue={valueOf('status')}>
          <option value="">Any status</option>
          {RUN_STATUSES.map((status) => (
            <option key={status} selected={status === valueOf('status')}>
              {status}
            </option>
          ))}
        </select>
        <select name="latest" aria-label="List">
          <option value="">Conversations</option>
          <option value="false" selected={valueOf('latest') === 'false'}>
            All runs
          </option>
        </select>
      </div>
      <details open={isMoreSet || query.has('tool')}>
        <summary>More filters</summary>
        <div class="grid">
          <label>
            Tool
            <input name="tool" list="tool-names" defaultValue={valueOf('tool')} />
          </label>
          <label>
            Error code
            <input name="error" placeholder="tool_failed" defaultValue={valueOf('error')} />
          </label>
          <label>
            Cost from
            <input name="cost" type="number" min="0" step="any" defaultValue={valueOf('cost')} />
          </label>
          <label>
            Duration from (ms)
            <input name="duration" type="number" min="0" step="1000" defaultValue={valueOf('duration')} />
          </label>
          <label>
            From day (UTC)
            <input name="from" type="date" defaultValue={valueOf('from')} />
          </label>
          <label>
            To day (UTC)
            <input name="to" type="date" defaultValue={valueOf('to')} />
          </label>
        </div>
        <datalist id="tool-names">
          {toolList.value.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </details>
    </form>
  )
}
