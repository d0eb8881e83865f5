import { type CallView, hasEnded, type RunView, type TimeSpan, type StepView } from './run-view.ts'

/** What a bar, or the thing in a row, is. `retried`: an attempt that came to nothing. */
export type Mark = 'model' | 'tool' | 'waiting' | 'failed' | 'retried'

/** A bar on the time axis, in percent of its width. */
export interface Bar {
  readonly kind: Mark
  readonly left: number
  readonly width: number
  /** What the bar lasted, in milliseconds. */
  readonly ms: number
  readonly isOpen?: true
}

/** A row of the timeline: the model's answer of a step, one of its calls, or similar steps that are folded. */
export interface Row {
  readonly key: string
  readonly kind: 'step' | 'call' | 'fold'
  /** 0 for a step, 1 for its calls, 2 and more for calls of a program. */
  readonly depth: number
  readonly step: StepView
  readonly call?: CallView
  /** The rows that a fold stands for. */
  readonly rows?: readonly Row[]
  readonly bars: readonly Bar[]
  /** How long it ran, without waits, in milliseconds. */
  readonly ms: number
}

export interface Timeline {
  readonly rows: readonly Row[]
  /** Milliseconds of each kind; tools that ran side by side count once. */
  readonly modelMs: number
  readonly toolMs: number
  readonly waitMs: number
  readonly totalMs: number
  /** Round times of the axis, which count active time. */
  readonly ticks: readonly { readonly left: number; readonly ms: number }[]
}

interface ClosedSpan {
  readonly from: number
  readonly to: number
}

/** What part of the axis a wait takes, however long it lasted, and all waits together. */
const WAIT_SHARE = 0.1
const MOST_WAIT_SHARE = 0.4

/** The least number of similar steps that are folded, and of steps of a run in which they are. */
const LEAST_SIMILAR = 3
const LEAST_STEPS = 12

/**
 * Lays a run out on one time axis. `now` is the end of what is still under way: the present, or the time at which the run
 * ended. A wait takes a fixed part of the axis, so that hours of it do not hide the rest. The axis is at least `leastMs`
 * long without waits, so that two runs can be folded on the same one.
 */
export function timelineOf(run: RunView, now: number, leastMs = 0): Timeline {
  const from = run.startedAt ?? now
  const isOver = hasEnded(run)
  const end = run.endedAt ?? (isOver && run.startedAt === undefined ? from : now)
  const to = Math.max(from, end, ...knownTimes(run))
  const close = ({ from: start, to: until }: TimeSpan): ClosedSpan => ({
    from: start,
    to: Math.max(start, until ?? to),
  })
  const pauses = run.steps.flatMap((step) => pausesOf(step, close))
  const waits = disjoint([...run.waits.map(close), ...pauses])
  const models = modelSpans(run, { from, to, close })
  const axis = { from, to: Math.max(to, from + covered(waits) + leastMs) }
  const scale = scaleOf(axis, waits)
  const bar = (kind: Mark, span: TimeSpan): Bar => {
    const { from: start, to: until } = close(span)
    const left = scale(start)
    const isOpen = span.to === undefined && !isOver
    return { kind, left, width: scale(until) - left, ms: until - start, ...(isOpen && { isOpen }) }
  }
  const rows = run.steps.flatMap((step, index): Row[] => {
    const model = models[index] ?? { from: to, to }
    const calls = nested(step.calls).map(([call, depth]) => callRow({ step, call, depth, isOver }, bar))
    return [stepRow(step, model, bar), ...calls]
  })
  const attempts = run.steps.flatMap(({ calls }) => calls.flatMap((call) => attemptSpans(call, isOver)))
  return {
    rows,
    modelMs: covered(models.map(close)),
    toolMs: covered(attempts.map(({ span }) => close(span))),
    waitMs: covered(waits),
    totalMs: to - from,
    ticks: ticksOf(axis, waits, scale),
  }
}

type MakeBar = (kind: Mark, span: TimeSpan) => Bar

function stepRow(step: StepView, model: TimeSpan, bar: MakeBar): Row {
  const lost = step.lostAttempts.flatMap(({ from, to }) =>
    from === undefined ? [] : [bar('retried', { from, to: to ?? from })],
  )
  const pauses = step.pauses.map((pause) => bar('waiting', pause))
  const own = bar(step.error ? 'failed' : 'model', model)
  const bars = [...lost, ...pauses, own].toSorted((a, b) => a.left - b.left)
  return { key: `step-${step.number}`, kind: 'step', depth: 0, step, bars, ms: activeMs(bars) }
}

interface CallToDraw extends Pick<Row, 'step' | 'depth'> {
  readonly call: CallView
  readonly isOver: boolean
}

function callRow({ step, call, depth, isOver }: CallToDraw, bar: MakeBar): Row {
  const waits = call.waits.map((wait) => bar('waiting', wait))
  const attempts = attemptSpans(call, isOver).map(({ kind, span }) => bar(kind, span))
  const bars = [...waits, ...attempts].toSorted((a, b) => a.left - b.left)
  return { key: call.id, kind: 'call', depth, step, call, bars, ms: activeMs(bars) }
}

function activeMs(bars: readonly Bar[]): number {
  return bars.reduce((sum, { kind, ms }) => sum + (kind === 'waiting' ? 0 : ms), 0)
}

/** The calls of a step, each followed by those that it made, with their depth. */
function nested(calls: readonly CallView[]): (readonly [call: CallView, depth: number])[] {
  const ids = new Set(calls.map(({ id }) => id))
  const byParent = Map.groupBy(calls, ({ parent }) => (parent !== undefined && ids.has(parent) ? parent : ''))
  const below = (parent: string, depth: number): (readonly [CallView, number])[] =>
    (byParent.get(parent) ?? []).flatMap((call) => [[call, depth] as const, ...below(call.id, depth + 1)])
  return below('', 1)
}

/** The attempts of a call. One whose end is not known ended before the next one began. */
function attemptSpans({ attempts, state }: CallView, isOver: boolean): { kind: Mark; span: TimeSpan }[] {
  return attempts.map(({ from, to, loss }, at) => {
    const isLast = at === attempts.length - 1
    const until = to ?? attempts[at + 1]?.from
    const isBad = isLast && (state === 'failed' || state === 'rejected')
    const isLost = loss !== undefined && (to === undefined || !isLast)
    const kind = isBad ? 'failed' : isLost ? 'retried' : 'tool'
    return {
      kind,
      span: until === undefined ? (isOver && isLost ? { from, to: from } : { from }) : { from, to: until },
    }
  })
}

function pausesOf({ pauses, lostAttempts, answeredAt }: StepView, close: (span: TimeSpan) => ClosedSpan): ClosedSpan[] {
  const latest = Math.max(answeredAt ?? 0, ...lostAttempts.map(({ to = 0 }) => to))
  // A pause that was cut short ended with the answer.
  return pauses.map((pause) =>
    latest > pause.from ? close({ from: pause.from, to: Math.min(pause.until, latest) }) : close(pause),
  )
}

function knownTimes({ steps, waits }: RunView): number[] {
  const spans = steps.flatMap(({ calls, answeredAt }) => [
    ...calls.flatMap((call) => [...call.attempts, ...call.waits]),
    ...(answeredAt === undefined ? [] : [{ from: answeredAt, to: answeredAt }]),
  ])
  return [...spans, ...waits].map(({ from, to }) => to ?? from)
}

/**
 * The time of the model in each step: from the start of its last attempt to its answer. Where these times are not
 * recorded, from the end of what came before until its calls start or the run waits.
 */
function modelSpans(
  { steps, waits }: RunView,
  { from: start, to: end, close }: ClosedSpan & { readonly close: (span: TimeSpan) => ClosedSpan },
): TimeSpan[] {
  let before = start
  return steps.map((step, index): TimeSpan => {
    const waited = waits.filter((wait) => wait.step === step.number)
    const next = [...step.calls.flatMap((call) => [...call.attempts, ...call.waits]), ...waited]
    const tries = [...step.lostAttempts, ...step.pauses].flatMap(({ to }) => to ?? [])
    const from = Math.min(end, Math.max(step.startedAt ?? before, ...tries))
    const isLast = index === steps.length - 1
    const firstNext = next.length > 0 ? Math.min(...next.map((each) => each.from)) : isLast ? end : from
    const to = Math.max(from, step.answeredAt ?? firstNext)
    before = Math.max(to, ...next.map((each) => close(each).to))
    return isLast && !step.isAnswered ? { from } : { from, to }
  })
}

/** Maps times to percent of the axis. */
function scaleOf({ from: start, to: end }: ClosedSpan, waits: readonly ClosedSpan[]): (time: number) => number {
  const waited = covered(waits)
  const active = Math.max(1, end - start - waited)
  const share = waits.length > 0 ? Math.min(MOST_WAIT_SHARE, waits.length * WAIT_SHARE) / waits.length : 0
  const all = active / (1 - share * waits.length)
  return (time) => {
    let length = time - start
    for (const { from, to } of waits) {
      if (time <= from) continue
      const part = to > from ? (Math.min(time, to) - from) / (to - from) : 1
      length += part * share * all - (Math.min(time, to) - from)
    }
    return Math.min(100, Math.max(0, (100 * length) / all))
  }
}

/** Joins spans that overlap. */
function disjoint(spans: readonly ClosedSpan[]): ClosedSpan[] {
  const joined: ClosedSpan[] = []
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last && span.from <= last.to) joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
    else joined.push(span)
  }
  return joined
}

/** The time that spans cover together. */
function covered(spans: readonly ClosedSpan[]): number {
  return disjoint(spans).reduce((sum, { from, to }) => sum + to - from, 0)
}

/** A few round times of the axis that lie outside the waits. */
function ticksOf(
  { from: start, to: end }: ClosedSpan,
  waits: readonly ClosedSpan[],
  scale: (time: number) => number,
): Timeline['ticks'] {
  const active = end - start - covered(waits)
  if (active <= 0) return []
  const rough = active / 4
  const unit = 10 ** Math.floor(Math.log10(rough))
  const every = [1, 2, 5, 10].map((factor) => factor * unit).find((each) => each >= rough) ?? rough
  const ticks: { left: number; ms: number }[] = []
  for (let ms = every; ms < active; ms += every) {
    let time = start + ms
    for (const { from, to } of waits) if (from < time) time += to - from
    ticks.push({ left: scale(time), ms })
  }
  return ticks
}

/** Whether something of this kind is in a row. */
export function hasMark({ bars, call, step, kind }: Row, mark: Mark): boolean {
  if (
    mark === 'failed' &&
    (call ? call.state === 'failed' || call.state === 'rejected' : kind === 'step' && step.error)
  )
    return true
  if (mark === 'waiting' && call?.state === 'approval') return true
  return bars.some((bar) => bar.kind === mark)
}

/** The call or step that took longest. */
export function slowestRow(rows: readonly Row[]): Row | undefined {
  return rows.reduce<Row | undefined>((slowest, row) => (row.ms > (slowest?.ms ?? 0) ? row : slowest), undefined)
}

/** The rows that never fold: those that somebody looks for. */
function isOfInterest(row: Row, slowest: Row | undefined): boolean {
  const marks: readonly Mark[] = ['failed', 'retried', 'waiting']
  return row === slowest || row.bars.some(({ isOpen }) => isOpen) || marks.some((mark) => hasMark(row, mark))
}

/**
 * Folds steps of a long run that follow one another and make the same calls into one row. Failed, retried and waiting ones
 * and the slowest stay as they are, and so do those that `isOpen` names by the key of the fold.
 */
export function foldSimilar(rows: readonly Row[], isOpen: (key: string) => boolean): readonly Row[] {
  const groups = groupByStep(rows)
  if (groups.length < LEAST_STEPS) return rows
  const slowest = slowestRow(rows)
  const shapes = groups.map((group) =>
    group.some((row) => isOfInterest(row, slowest)) ? undefined : group.map(({ call }) => call?.tool ?? '').join(' '),
  )
  const folded: Row[] = []
  for (let at = 0; at < groups.length;) {
    let end = at + 1
    while (end < groups.length && shapes[at] !== undefined && shapes[end] === shapes[at]) end++
    const similar = groups.slice(at, end).flat()
    const [first] = similar
    const key = `fold-${first?.step.number}`
    if (first && end - at >= LEAST_SIMILAR) {
      const bars = joinBars(similar.flatMap((row) => row.bars))
      folded.push({ key, kind: 'fold', depth: 0, step: first.step, rows: similar, bars, ms: activeMs(bars) })
      if (isOpen(key)) folded.push(...similar)
    } else {
      folded.push(...similar)
    }
    at = end
  }
  return folded
}

function groupByStep(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = []
  for (const row of rows) {
    if (row.kind === 'step') groups.push([row])
    else groups.at(-1)?.push(row)
  }
  return groups
}

/** Bars of one kind that touch become one, so that a fold has few of them. */
function joinBars(bars: readonly Bar[]): Bar[] {
  const joined: Bar[] = []
  for (const bar of bars.toSorted((a, b) => a.left - b.left)) {
    const last = joined.at(-1)
    if (last && last.kind === bar.kind && bar.left <= last.left + last.width + 0.2) {
      const width = Math.max(last.width, bar.left + bar.width - last.left)
      joined[joined.length - 1] = { ...last, width, ms: last.ms + bar.ms }
    } else joined.push(bar)
  }
  return joined
}
