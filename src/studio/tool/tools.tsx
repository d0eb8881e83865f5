import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLoaded } from '../api/loaded.ts'
import { hasScope } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { Empty, ErrorNote, Unloaded } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { quantity } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { toolList, type CatalogueTool, loadTools, searchTools } from './catalogue.ts'
import { ToolView } from './tool-page.tsx'

/** The pause after a key before the edge is asked, in milliseconds. */
const SEARCH_MS = 200
/** How many tools are drawn at first, and each time that the end of the list comes near. */
const ROWS = 150
const NEAR_PX = 600

/** The tools of the edge, searched as a model searches them, and beside them the one that is selected. */
export function Tools({ tool }: { readonly tool?: string }): JSX.Element {
  const wanted = useSignal('')
  const matches = useMatches(wanted.value)
  const { state, reload } = useLoaded(loadTools, [])
  const all = toolList.value
  const { error, isLoading } = state.value
  const isFailed = error !== undefined && all.length === 0
  return (
    <>
      <ToolsHead all={all} isFailed={isFailed} />
      {isFailed ? (
        <Unloaded error={error} what="The tools" onRetry={reload} />
      ) : (
        <div class={tool === undefined ? 'split list' : 'split list has-detail'}>
          <section aria-label="All tools">
            <div class="pad bar tsearch">
              <div class="search">
                <Icon name="search" />
                <input
                  class="in"
                  type="search"
                  placeholder={`Search ${all.length.toLocaleString('en')} tools`}
                  aria-label="Search tools"
                  value={wanted.value}
                  onInput={(event) => (wanted.value = event.currentTarget.value)}
                />
              </div>
            </div>
            {error !== undefined && <ErrorNote error={error} />}
            <List
              all={all}
              matches={matches}
              wanted={wanted.value.trim().toLowerCase()}
              selected={tool}
              isLoading={isLoading}
            />
          </section>
          <section class="sheet" aria-label="Tool">
            <a class="btn quiet back" href={hrefOf({ page: 'tools' })}>
              <Icon name="back" />
              Tools
            </a>
            <div class="scroll" tabIndex={0}>
              {tool === undefined ? (
                <Empty
                  icon="tool"
                  title="Select a tool"
                  text="Its description, a form to call it and its versions show here."
                />
              ) : (
                <ToolView key={tool} name={tool} />
              )}
            </div>
          </section>
        </div>
      )}
    </>
  )
}

/** What the search of the edge finds, once nothing more is typed. */
function useMatches(wanted: string): readonly CatalogueTool[] {
  const matches = useSignal<readonly CatalogueTool[]>([])
  useEffect(() => {
    matches.value = []
    const query = wanted.trim()
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
  }, [wanted])
  return matches.value
}

function ToolsHead({
  all,
  isFailed,
}: {
  readonly all: readonly CatalogueTool[]
  readonly isFailed: boolean
}): JSX.Element {
  const offered = all.filter((each) => each.available && each.offered).length
  return (
    <header class="head">
      <h1>Tools</h1>
      {all.length > 0 && (
        <span class="faint nophone">
          {all.length.toLocaleString('en')}, of them {offered.toLocaleString('en')} offered by default
        </span>
      )}
      <span class="grow" />
      {(hasScope('tools:write') || hasScope('tools:admin')) && !isFailed && (
        <a class="btn solid" href={hrefOf({ page: 'define' })}>
          <Icon name="plus" />
          Write a tool
        </a>
      )}
    </header>
  )
}

interface ListProps {
  readonly all: readonly CatalogueTool[]
  readonly matches: readonly CatalogueTool[]
  readonly wanted: string
  readonly selected: string | undefined
  readonly isLoading: boolean
}

/** What the search found, best first, then the tools that contain the words as they stand. */
function List({ all, matches, wanted, selected, isLoading }: ListProps): JSX.Element {
  const most = useSignal(ROWS)
  useEffect(() => void (most.value = ROWS), [wanted])
  const names = new Set(matches.map(({ name }) => name))
  const literal = all.filter((tool) => !names.has(tool.name) && textOf(tool).includes(wanted))
  const results = wanted === '' ? all : [...matches, ...literal]
  const faulty = results.filter(({ available }) => !available).length
  const grow = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: { currentTarget: HTMLElement }) => {
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX && most.value < results.length) most.value += ROWS
  }
  return (
    <>
      <div class="items" onScroll={grow}>
        {results.slice(0, most.value).map((tool) => (
          <ToolItem key={tool.name} tool={tool} isSelected={tool.name === selected} />
        ))}
        {results.length === 0 && !isLoading && (
          <Empty
            icon="search"
            title={wanted === '' ? 'No tools' : `No tool for “${wanted}”`}
            text="Bind a tool Worker to the edge, or write a tool that is data."
          />
        )}
      </div>
      <div class="tfoot" role="status">
        {quantity(results.length, 'tool')}
        {faulty > 0 && `, ${faulty} not available`}
        {wanted !== '' && matches.length > 0 && `; the first ${matches.length} as a model finds them`}
      </div>
    </>
  )
}

function ToolItem({ tool, isSelected }: { readonly tool: CatalogueTool; readonly isSelected: boolean }): JSX.Element {
  const { name, title, description = '', available, reason, offered, approval, annotations, undo } = tool
  const needsApproval = approval !== undefined && approval !== 'never'
  const isFinal = annotations?.destructive === true && !undo
  return (
    <a class="item" href={hrefOf({ page: 'tools', tool: name })} aria-current={isSelected ? 'true' : undefined}>
      <span class="bar">
        <b class="mono cut">{visible(name)}</b>
        <span class="bar">
          {isFinal && <Sign icon="warning" tone="fail" word="Cannot be undone" />}
          {needsApproval && <Sign icon="approval" tone="wait" word="Needs approval" />}
          {!available && <Sign icon="cross" tone="fail" word="Not available" />}
          {available && offered === false && <small>on request</small>}
        </span>
      </span>
      <small class="cut">{available ? visible(title ?? description) : `Not available: ${visible(reason ?? '')}`}</small>
    </a>
  )
}

function Sign({
  icon,
  tone,
  word,
}: {
  readonly icon: 'warning' | 'approval' | 'cross'
  readonly tone: string
  readonly word: string
}): JSX.Element {
  return (
    <span class={tone} title={word}>
      <Icon name={icon} />
      <span class="hidden">{word}</span>
    </span>
  )
}

function textOf({ name, description = '', title = '', reason = '' }: CatalogueTool): string {
  return `${name} ${title} ${description} ${reason}`.toLowerCase()
}
