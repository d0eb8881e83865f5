import type { JSX } from 'preact'

/** A day, such as `2026-02-28`, and the parts of its column, from the bottom up. */
export interface DayColumn {
  readonly day: string
  readonly parts: readonly number[]
}

interface ChartProps {
  readonly title: string
  /** What the parts are called. */
  readonly series: readonly string[]
  readonly columns: readonly DayColumn[]
  /** The classes of the parts. */
  readonly colours: readonly ('a' | 'b' | 'c' | 'e')[]
  readonly format: (value: number) => string
}

const HEIGHT = 144
const COLUMN = 10
const LINES = 3

/** Columns of days, each of several parts; the same figures are in a table for those who do not see them. */
export function DayChart({ title, series, columns, colours, format }: ChartProps): JSX.Element {
  const totals = columns.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0))
  const top = niceTop(Math.max(...totals, 0))
  const width = COLUMN * columns.length
  const heightOf = (value: number) => (top > 0 ? (HEIGHT * value) / top : 0)
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="grow" />
        <span class="hint">
          {series.map((name, index) => (
            <span key={name} class="serie">
              <span class={`key k-${colours[index]}`} /> {name}
            </span>
          ))}
        </span>
      </header>
      <div class="pad">
        <div class="plot" aria-hidden="true">
          <div class="ys">
            {Array.from({ length: LINES + 1 }, (_, line) => (
              <span key={line}>{line === LINES ? '0' : format((top * (LINES - line)) / LINES)}</span>
            ))}
          </div>
          <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none">
            {Array.from({ length: LINES + 1 }, (_, line) => {
              const y = Math.min(HEIGHT - 0.5, (line * HEIGHT) / LINES + 0.5)
              return <line key={line} class="grid" x1="0" x2={width} y1={y} y2={y} vector-effect="non-scaling-stroke" />
            })}
            {columns.map(({ day, parts }, index) => (
              <g key={day}>
                <title>{`${day}: ${format(totals[index] ?? 0)}`}</title>
                {parts.map((part, at) => {
                  const below = parts.slice(0, at).reduce((sum, each) => sum + each, 0)
                  const height = heightOf(part)
                  return (
                    <rect
                      key={at}
                      class={colours[at]}
                      x={index * COLUMN + 1.5}
                      width={COLUMN - 3}
                      y={HEIGHT - heightOf(below) - height}
                      height={height}
                    />
                  )
                })}
              </g>
            ))}
          </svg>
          <div class="xs hint">
            {labelDays(columns).map((day) => (
              <span key={day}>{dayText(day)}</span>
            ))}
          </div>
        </div>
        <FigureTable title={title} series={series} columns={columns} format={format} />
      </div>
    </section>
  )
}

/** The same figures as a table. */
function FigureTable({ title, series, columns, format }: Omit<ChartProps, 'colours'>): JSX.Element {
  return (
    <table class="hidden">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">Day</th>
          {series.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {columns.map(({ day, parts }) => (
          <tr key={day}>
            <th scope="row">{day}</th>
            {parts.map((part, index) => (
              <td key={index}>{format(part)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The next round value that three lines divide well. */
function niceTop(value: number): number {
  if (value <= 0) return 0
  const unit = 10 ** Math.floor(Math.log10(value))
  return ([1.2, 1.5, 3, 6, 9, 12].find((factor) => factor * unit >= value) ?? 12) * unit
}

/** The first and the last day, and a few between. */
function labelDays(columns: readonly DayColumn[]): readonly string[] {
  const count = Math.min(4, columns.length)
  const at = Array.from({ length: count }, (_, index) =>
    Math.round((index * (columns.length - 1)) / Math.max(1, count - 1)),
  )
  return at.map((index) => columns[index]?.day ?? '')
}

function dayText(day: string): string {
  return new Date(day).toLocaleString('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}
