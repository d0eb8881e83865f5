import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLoaded } from '../api/loaded.ts'
import { Problem } from '../part/problem.tsx'
import { count, visible } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { Badges } from './badges.tsx'
import { listed, type ListedTool, loadTools, searchTools } from './catalogue.ts'
import { ToolPage } from './tool-page.tsx'

/** The pause after a key before the edge is asked. */
const SEARCH_MS = 200

/** The tools of the edge, searched as a model searches them, and beside them the one that is selected. */
export function Tools({ tool }: { readonly tool?: string }): JSX.Element {
  const wanted = useSignal('')
  const found = useSignal<readonly ListedTool[]>([])
  const { state } = useLoaded(loadTools, [])
  useEffect(() => {
    found.value = []
    const query = wanted.value.trim()
    if (query === '') return undefined
    let isCurrent = true
    const timer = setTimeout(() => {
      searchTools(query).then(
        (tools) => isCurrent && (found.value = tools),
        () => {},
      )
    }, SEARCH_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [wanted.value])
  const all = listed.value
  return (
    <div class={tool === undefined ? 'chat' : 'chat split even'}>
      <div class="transcript">
        <div class="log" tabIndex={0} role="region" aria-label="Tools">
          <div class="page">
            <header class="head">
              <h1>Tools</h1>
              <a class="button" href={hrefOf({ page: 'define' })}>
                New definition
              </a>
            </header>
            <input
              type="search"
              placeholder="Search as a model does"
              aria-label="Search tools"
              value={wanted.value}
              onInput={(event) => (wanted.value = event.currentTarget.value)}
            />
            {state.value.error !== undefined && <Problem error={state.value.error} />}
            <List all={all} found={found.value} wanted={wanted.value.trim().toLowerCase()} selected={tool} />
          </div>
        </div>
      </div>
      {tool !== undefined && <ToolPage key={tool} name={tool} />}
    </div>
  )
}

interface ListProps {
  readonly all: readonly ListedTool[]
  readonly found: readonly ListedTool[]
  readonly wanted: string
  readonly selected: string | undefined
}

/** What the search found, best first, then the tools that contain the words as they stand. */
function List({ all, found, wanted, selected }: ListProps): JSX.Element {
  const names = new Set(found.map(({ name }) => name))
  const literal = all.filter((tool) => !names.has(tool.name) && textOf(tool).includes(wanted))
  const shown = wanted === '' ? all : [...found, ...literal]
  const faulty = shown.filter(({ available }) => !available).length
  return (
    <>
      <p class="note" role="status">
        {count(shown.length, 'tool')}
        {faulty > 0 && `, ${faulty} not available`}
        {wanted !== '' && found.length > 0 && `; the first ${found.length} in the order that a model gets them in`}
      </p>
      <ul class="rows">
        {shown.map((tool, index) => (
          <li key={tool.name}>
            <a
              class="item"
              href={hrefOf({ page: 'tools', tool: tool.name })}
              aria-current={tool.name === selected ? 'true' : undefined}
            >
              <span class="title">
                {index < found.length && wanted !== '' && <span class="note">{index + 1}. </span>}
                <b>{visible(tool.name)}</b> <Badges tool={tool} />
              </span>
              <span class="note two">
                {tool.available ? visible(tool.description ?? '') : `Not available: ${tool.reason}`}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

function textOf({ name, description = '', title = '', reason = '' }: ListedTool): string {
  return `${name} ${title} ${description} ${reason}`.toLowerCase()
}
