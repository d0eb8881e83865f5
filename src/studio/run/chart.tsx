import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { costText } from '../api/session.ts'
import { Icon, type IconName } from '../part/icon.tsx'
import { memo } from '../part/memo.tsx'
import { callLook } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { amount, argumentHint, duration, jsonOrText, quantity, shortened } from '../part/text.ts'
import { tools } from '../tool/catalogue.ts'
import type { CallView, StepView } from './run-view.ts'
import { type Bar, foldSimilar, hasMark, type Mark, type Row, slowestRow, type Timeline } from './timeline.ts'

/** The kinds of bars: their class, and what a person calls them. */
const KINDS: readonly (readonly [mark: Mark, shape: string, name: string])[] = [
  ['model', 'm', 'Model'],
  ['tool', 't', 'Tool'],
  ['waiting', 'w', 'Waiting'],
  ['failed', 'f', 'Failed'],
  ['retried', 'r', 'Retried'],
]
const SHAPES = new Map(KINDS.map(([mark, shape]) => [mark, shape]))

/** A part of the axis, in percent. */
interface Zoom {
  readonly from: number
  readonly to: number
}

const FULL_AXIS: Zoom = { from: 0, to: 100 }
/** A drag over less than this is a click. */
const LEAST_ZOOM = 2

interface ChartProps {
  readonly timeline: Timeline
  readonly selected: string | undefined
  readonly hrefOf: (key: string) => string
  /** Shows a row, as its link does. */
  readonly onSelect?: (key: string) => void
  /** Without the overview and what belongs to it. */
  readonly isSmall?: boolean
}

/** The timeline of a run: an overview to zoom with, filters, and a row for each step and call on one time axis. */
export function Chart({ timeline, selected, hrefOf, onSelect, isSmall = false }: ChartProps): JSX.Element {
  const openFolds = useSignal<ReadonlySet<string>>(new Set())
  const mark = useSignal<Mark | undefined>(undefined)
  const zoom = useSignal(FULL_AXIS)
  const { rows } = timeline
  const slowest = slowestRow(rows)
  const visibleRows = useMemo(() => {
    const only = mark.value
    if (only) return rows.filter((row) => hasMark(row, only))
    const isSelected = (key: string) => rows.some((row) => row.key === selected && key === foldOf(rows, row))
    return foldSimilar(rows, (key) => openFolds.value.has(key) || isSelected(key))
  }, [rows, mark.value, openFolds.value, selected])
  const toggle = (key: string) => {
    const next = new Set(openFolds.value)
    if (!next.delete(key)) next.add(key)
    openFolds.value = next
  }
  return (
    <div class="tlbox">
      {!isSmall && (
        <div class="pad stack2">
          <Overview rows={rows} zoom={zoom} />
          <Legend rows={rows} mark={mark} zoom={zoom} slowest={slowest} onSelect={onSelect} />
        </div>
      )}
      <div class="tl">
        <Patterns />
        <div class="tlhead" aria-hidden="true">
          <span class="nm">Step or call</span>
          <svg class="lane">
            {timeline.ticks.map(({ left, ms }, index) => (
              <text key={ms} x={`${placeIn(zoom.value, left)}%`} y="16" dx="4">
                {isLabelled(placeIn(zoom.value, left), isSmall && index % 2 === 0) ? duration(ms) : ''}
              </text>
            ))}
          </svg>
          <span class="num">Time</span>
          <span class="num c-tok">Tokens</span>
          <span class="num c-cost">Cost</span>
        </div>
        <ol aria-label="Timeline">
          {visibleRows.map((row) => (
            <ChartRow
              key={row.key}
              row={row}
              ticks={timeline.ticks}
              zoom={zoom.value}
              isSelected={row.key === selected}
              isSlowest={row === slowest && rows.length > 3}
              href={row.kind === 'fold' ? '' : hrefOf(row.key)}
              isOpen={openFolds.value.has(row.key)}
              onToggle={toggle}
            />
          ))}
        </ol>
      </div>
    </div>
  )
}

/** The key of the fold that would hide a row. */
function foldOf(rows: readonly Row[], row: Row): string | undefined {
  return foldSimilar(rows, () => false).find((each) => each.rows?.includes(row))?.key
}

/** Whether there is room for the label of a tick. */
function isLabelled(place: number, isCrowded: boolean): boolean {
  return place >= 0 && place < 92 && !isCrowded
}

function placeIn({ from, to }: Zoom, left: number): number {
  return (100 * (left - from)) / (to - from)
}

/** The fills of bars that are told apart without colours. */
function Patterns(): JSX.Element {
  return (
    <svg class="defs" aria-hidden="true">
      <defs>
        <pattern id="pr" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" fill="var(--retry-tint)" />
          <rect width="3" height="6" fill="var(--retry)" />
        </pattern>
        <pattern id="pw" width="6" height="6" patternUnits="userSpaceOnUse">
          <rect width="6" height="6" fill="var(--wait-tint)" />
          <circle cx="3" cy="3" r="1.5" fill="var(--wait)" />
        </pattern>
      </defs>
    </svg>
  )
}

/** The whole run in little. Dragging over it zooms the timeline in. */
function Overview({ rows, zoom }: { readonly rows: readonly Row[]; readonly zoom: Signal<Zoom> }): JSX.Element {
  const start = useRef<number | undefined>(undefined)
  const placeOf = (event: PointerEvent): number => {
    const box = event.currentTarget instanceof Element ? event.currentTarget.getBoundingClientRect() : undefined
    return box ? Math.min(100, Math.max(0, (100 * (event.clientX - box.left)) / box.width)) : 0
  }
  const drag = (event: PointerEvent) => {
    if (start.current === undefined) return
    const [a, b] = [start.current, placeOf(event)]
    if (Math.abs(a - b) >= LEAST_ZOOM) zoom.value = { from: Math.min(a, b), to: Math.max(a, b) }
  }
  const { from, to } = zoom.value
  return (
    <svg
      class="mini nophone"
      aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        start.current = placeOf(event)
        zoom.value = FULL_AXIS
      }}
      onPointerMove={drag}
      onPointerUp={() => (start.current = undefined)}
    >
      <MiniBars rows={rows} />
      {zoom.value !== FULL_AXIS && (
        <>
          <rect class="out" x="0" width={`${from}%`} height="32" />
          <rect class="out" x={`${to}%`} width={`${100 - to}%`} height="32" />
        </>
      )}
    </svg>
  )
}

const MiniBars = memo(({ rows }: { readonly rows: readonly Row[] }) => (
  <>
    {rows.flatMap(({ key, depth, bars }) =>
      bars.map(({ kind, left, width }, index) => (
        <rect
          key={`${key} ${index}`}
          class={SHAPES.get(kind)}
          x={`${left}%`}
          width={`${Math.max(width, 0.15)}%`}
          y={depth === 0 ? 5 : 12 + 6 * Math.min(depth, 2)}
          height={depth === 0 ? 7 : 5}
        />
      )),
    )}
  </>
))

interface LegendProps {
  readonly rows: readonly Row[]
  readonly mark: Signal<Mark | undefined>
  readonly zoom: Signal<Zoom>
  readonly slowest: Row | undefined
  readonly onSelect: ((key: string) => void) | undefined
}

/** The kinds of bars with their counts, which filter the rows, and a way to the slowest row. */
function Legend({ rows, mark, zoom, slowest, onSelect }: LegendProps): JSX.Element {
  return (
    <div class="legend" role="group" aria-label="Show only">
      {KINDS.map(([kind, shape, name]) => {
        const count = rows.filter((row) => hasMark(row, kind)).length
        if (count === 0) return null
        const change = () => {
          mark.value = mark.value === kind ? undefined : kind
          const first = rows.find((row) => hasMark(row, kind))
          if (first && mark.value && kind !== 'model' && kind !== 'tool') onSelect?.(first.key)
        }
        return (
          <button key={kind} type="button" aria-pressed={mark.value === kind} onClick={change}>
            <svg aria-hidden="true">
              <rect class={shape} width="16" height="8" rx="2" />
            </svg>
            {name} <b>{count}</b>
          </button>
        )
      })}
      {slowest && onSelect && (
        <button type="button" onClick={() => onSelect(slowest.key)}>
          Slowest <b>{duration(slowest.ms)}</b>
        </button>
      )}
      {zoom.value === FULL_AXIS ? (
        slowest && (
          <button type="button" class="nophone" onClick={() => (zoom.value = around(slowest))}>
            Zoom in
          </button>
        )
      ) : (
        <button type="button" onClick={() => (zoom.value = FULL_AXIS)}>
          Show all
        </button>
      )}
    </div>
  )
}

/** The part of the axis around a row. */
function around({ bars }: Row): Zoom {
  const from = Math.min(...bars.map(({ left }) => left))
  const to = Math.max(...bars.map(({ left, width }) => left + width))
  const margin = Math.max(1, (to - from) * 0.25)
  return { from: Math.max(0, from - margin), to: Math.min(100, to + margin) }
}

interface RowProps {
  readonly row: Row
  readonly ticks: Timeline['ticks']
  readonly zoom: Zoom
  readonly isSelected: boolean
  readonly isSlowest: boolean
  readonly isOpen: boolean
  readonly href: string
  readonly onToggle: (key: string) => void
}

const ChartRow = memo(ShownRow, isSameRow)

/** Rows are made again with every event; most of them look as before. */
function isSameRow(before: RowProps, after: RowProps): boolean {
  const [a, b] = [before.row, after.row]
  const { row: _a, onToggle: _ta, ticks: ticksBefore, ...rest } = before
  const { row: _b, onToggle: _tb, ticks: ticksAfter, ...next } = after
  const isSame = JSON.stringify([rest, ticksBefore]) === JSON.stringify([next, ticksAfter])
  return isSame && a.call === b.call && a.step === b.step && JSON.stringify(a.bars) === JSON.stringify(b.bars)
}

function ShownRow({ row, ticks, zoom, isSelected, isSlowest, isOpen, href, onToggle }: RowProps): JSX.Element {
  const { kind, step, call, bars } = row
  const { icon, tone } = iconOf(row)
  const usage = call ? call.usage : kind === 'step' ? step.usage : undefined
  const content = (
    <>
      <span class={`nm d${Math.min(row.depth, 3)}`} title={call && `${call.tool} ${call.arguments}`}>
        {row.depth === 0 && <b>{numberOf(row)}</b>}
        <span class={tone}>
          <Icon name={icon} isSmall isSpinning={icon === 'running'} />
        </span>
        <span class={call ? 'mono' : ''}>{nameOf(row)}</span>
        <span class="cut">{noteOf(row)}</span>
      </span>
      <Lane bars={bars} ticks={ticks} zoom={zoom} />
      <span class={`num cut ${tone === 'fail' || tone === 'wait' ? tone : ''}`}>
        {timeOf(row)}
        {isSlowest && <span class="hidden">, the slowest</span>}
      </span>
      <span class="num faint c-tok">{usage && amount(usage.inputTokens + usage.outputTokens)}</span>
      <span class="num faint c-cost">{usage?.cost !== undefined && costText(usage.cost)}</span>
    </>
  )
  if (kind === 'fold') {
    return (
      <li>
        <button type="button" class="tlrow" aria-expanded={isOpen} onClick={() => onToggle(row.key)}>
          {content}
        </button>
      </li>
    )
  }
  return (
    <li>
      <a class="tlrow" href={href} aria-current={isSelected ? 'true' : undefined}>
        {content}
      </a>
    </li>
  )
}

interface LaneProps {
  readonly bars: readonly Bar[]
  readonly ticks: Timeline['ticks']
  readonly zoom: Zoom
}

function Lane({ bars, ticks, zoom }: LaneProps): JSX.Element {
  const factor = 100 / (zoom.to - zoom.from)
  const visibleBars = bars.filter(({ left, width }) => left + width >= zoom.from && left <= zoom.to)
  const wait = bars.find(({ kind, ms }) => kind === 'waiting' && ms >= 1000)
  const end = Math.max(...bars.map(({ left, width }) => placeIn(zoom, left + width)), 0)
  const last = bars.at(-1)
  return (
    <svg class={zoom === FULL_AXIS ? 'lane' : 'lane clip'} aria-hidden="true">
      {ticks.map(({ left, ms }) => (
        <line key={ms} class="grid" x1={`${placeIn(zoom, left)}%`} x2={`${placeIn(zoom, left)}%`} y1="0" y2="24" />
      ))}
      {visibleBars.map(({ kind, left, width, isOpen }, index) => (
        <rect
          key={index}
          class={`${SHAPES.get(kind)} ${isOpen ? 'open' : ''}`}
          x={`${placeIn(zoom, left)}%`}
          width={`${Math.max(width * factor, 0.3)}%`}
          y="6"
          height="12"
          rx="3"
        />
      ))}
      {last?.kind === 'failed' && end < 97 && (
        <svg x={`${end}%`} y="6" width="12" height="12" overflow="visible">
          <path class="x" d="M6 3l6 6M12 3l-6 6" />
        </svg>
      )}
      {wait && end < 75 && last?.kind !== 'failed' && (
        <text x={`${end}%`} y="16" dx="6">
          {wait.isOpen ? 'waits' : 'waited'} {duration(wait.ms)}
        </text>
      )}
    </svg>
  )
}

function iconOf(row: Row): { readonly icon: IconName; readonly tone: string } {
  const { kind, step, call } = row
  if (kind === 'fold') return { icon: 'right', tone: 'faint' }
  if (!call) {
    if (step.error) return { icon: 'cross', tone: 'fail' }
    return step.isAnswered ? { icon: 'model', tone: 'model' } : { icon: 'running', tone: 'model' }
  }
  const look = callLook(call.state)
  if (look.tone !== '') return { icon: look.icon, tone: look.tone }
  if (call.isProgram || call.tool === 'run_code') return { icon: 'program', tone: 'tool' }
  return { icon: tools.value.get(call.tool)?.source === 'agent' ? 'agent' : 'tool', tone: 'tool' }
}

function numberOf({ kind, step, rows }: Row): string {
  const last = rows?.at(-1)?.step.number
  return kind === 'fold' ? `${step.number}–${last}` : String(step.number)
}

function nameOf({ kind, call, rows }: Row): string {
  if (call) return visible(call.tool)
  const count = rows?.filter((row) => row.kind === 'step').length ?? 0
  return kind === 'fold' ? `${count} similar steps` : 'Model'
}

function noteOf({ kind, step, call, rows = [] }: Row): string {
  if (kind === 'fold') {
    const names = rows.flatMap((row) => (row.call ? [row.call.tool] : []))
    return [...Map.groupBy(names, (name) => name)].map(([name, all]) => `${visible(name)} × ${all.length}`).join(', ')
  }
  if (call) return callNote(call)
  const tries = step.lostAttempts.length
  const attempts = tries > 0 ? `tried ${tries === 1 ? 'twice' : `${tries + 1} times`}, ` : ''
  return attempts + stepNote(step)
}

function stepNote({ error, isAnswered, calls, text }: StepView): string {
  if (error) return error.code
  if (!isAnswered) return text === '' ? 'is thinking' : 'is writing'
  const own = calls.filter(({ parent }) => parent === undefined)
  if (own.length === 1 && own[0]?.isProgram) return 'writes a program'
  return own.length > 0 ? `asks for ${quantity(own.length, 'call')}` : 'answers'
}

function callNote({ arguments: text, isProgram, progress }: CallView): string {
  if (isProgram) {
    const code = codeOf(text)
    return code === undefined ? 'program' : quantity(code.split('\n').length, 'line')
  }
  return progress?.message !== undefined ? visible(shortened(progress.message, 60)) : argumentHint(text)
}

/** The code of a program, from the arguments of its call; undefined if there is none. */
export function codeOf(text: string): string | undefined {
  const value = jsonOrText(text)
  return typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'string'
    ? value.code
    : undefined
}

function timeOf({ step, call, bars, ms }: Row): string {
  if (call?.state === 'failed') return visible(call.error?.code ?? 'failed')
  if (call && ['approval', 'caller', 'rejected', 'later'].includes(call.state))
    return callLook(call.state).word.toLowerCase()
  if (step.error && !call) return 'failed'
  return bars.length > 0 ? duration(ms) : ''
}
