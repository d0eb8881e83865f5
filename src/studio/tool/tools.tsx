import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLoaded } from '../api/loaded.ts'
import { ErrorNote } from '../part/problem.tsx'
import { quantity, visible } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { Badges } from './badges.tsx'
import { toolList, type CatalogueTool, loadTools, searchTools } from './catalogue.ts'
import { ToolView } from './tool-page.tsx'

/** The pause after a key before the edge is asked. */
const SEARCH_MS = 200

/** The tools of the edge, searched as a model searches them, and beside them the one that is selected. */
export function Tools({ tool }: { readonly tool?: string }): JSX.Element {
  const wanted = useSignal('')
  const matches = useSignal<readonly CatalogueTool[]>([])
  const { state } = useLoaded(loadTools, [])
  useEffect(() => {
    matches.value = []
    const query = wanted.value.trim()
    if (query === '') return undefined
    let isCurrent = true
    const timer = setTimeout(() => {
      searchTools(query).then(
        (tools) => isCurrent && (matches.value = tools),
        () => {},
      )
    }, SEARCH_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [wanted.value])
  const all = toolList.value
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
            {state.value.error !== undefined && <ErrorNote error={state.value.error} />}
            <List all={all} matches={matches.value} wanted={wanted.value.trim().toLowerCase()} selected={tool} />
          </div>
        </div>
      </div>
      {tool !== undefined && <ToolView key={tool} name={tool} />}
    </div>
  )
}

interface ListProps {
  readonly all: readonly CatalogueTool[]
  readonly matches: readonly CatalogueTool[]
  readonly wanted: string
  readonly selected: string | undefined
}

/** What the search found, best first, then the tools that contain the words as they stand. */
function List({ all, matches, wanted, selected }: ListProps): JSX.Element {
  const names = new Set(matches.map(({ name }) => name))
  const literal = all.filter((tool) => !names.has(tool.name) && textOf(tool).includes(wanted))
  const visibleTools = wanted === '' ? all : [...matches, ...literal]
  const faulty = visibleTools.filter(({ available }) => !available).length
  return (
    <>
      <p class="note" role="status">
        {quantity(visibleTools.length, 'tool')}
        {faulty > 0 && `, ${faulty} not available`}
        {wanted !== '' && matches.length > 0 && `; the first ${matches.length} in the order that a model gets them in`}
      </p>
      <ul class="rows">
        {visibleTools.map((tool, index) => (
          <li key={tool.name}>
            <a
              class="item"
              href={hrefOf({ page: 'tools', tool: tool.name })}
              aria-current={tool.name === selected ? 'true' : undefined}
            >
              <span class="title">
                {index < matches.length && wanted !== '' && <span class="note">{index + 1}. </span>}
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

function textOf({ name, description = '', title = '', reason = '' }: CatalogueTool): string {
  return `${name} ${title} ${description} ${reason}`.toLowerCase()
}
