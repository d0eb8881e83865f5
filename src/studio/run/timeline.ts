import { type CallAttempt, type CallView, hasEnded, type RunView, type StepView } from './run-view.ts'

/** A bar on the time axis, in percent of its width. */
export interface Bar {
  readonly kind: 'model' | 'tool' | 'wait' | 'lost'
  readonly left: number
  readonly width: number
  /** What the bar lasted, in milliseconds. */
  readonly ms: number
  readonly isOpen?: true
}

/** A row of the timeline: the model's answer of a step, one of its calls, or a time in which the run waited. */
export interface Row {
  readonly key: string
  readonly kind: 'step' | 'call' | 'wait'
  readonly step?: StepView
  readonly call?: CallView
  readonly bars: readonly Bar[]
}

export interface Timeline {
  readonly rows: readonly Row[]
  /** Milliseconds of each kind; tools that ran side by side count once. */
  readonly modelMs: number
  readonly toolMs: number
  readonly waitMs: number
  readonly totalMs: number
  readonly ticks: readonly { readonly left: number; readonly ms: number }[]
}

interface Span {
  readonly from: number
  readonly to: number
}

/** What part of the axis a wait takes, however long it lasted. */
const WAIT_SHARE = 0.06

/**
 * Lays a run out on one time axis. Events tell when calls started and how long they ran, and when the run started,
 * waited and continued; the model worked in between. `now` is the end of what is still under way: the present, or the
 * time at which the run ended. A wait takes a fixed part of the axis, so that hours of it do not hide the rest. The axis is
 * at least `leastMs` long without waits, so that two runs can be shown on the same one.
 */
export function timelineOf(run: RunView, now: number, leastMs = 0): Timeline {
  const from = run.startedAt ?? now
  const isOver = hasEnded(run)
  const to = Math.max(from, ...knownTimes(run), isOver && run.startedAt === undefined ? from : now)
  const end = { time: to, isOver }
  const waits = run.waits.map((wait) => spanOf(wait, end))
  const models = modelSpans(run, from, end)
  const axis = { from, to: Math.max(to, from + covered(waits) + leastMs) }
  const scale = scaleOf(axis, waits)
  const bar = (kind: Bar['kind'], span: Span, isOpen: boolean): Bar => {
    const left = scale(span.from)
    return { kind, left, width: scale(span.to) - left, ms: span.to - span.from, ...(isOpen && { isOpen }) }
  }
  const rows = run.steps.flatMap((step, index): Row[] => {
    const isLast = index === run.steps.length - 1
    const model = models[index] ?? { from: to, to }
    const head: Row = {
      key: `step-${step.number}`,
      kind: 'step',
      step,
      bars: [bar('model', model, isLast && !step.isAnswered && !isOver)],
    }
    const waiting = run.waits.flatMap((wait, at): Row[] => {
      if (wait.step !== step.number) return []
      return [
        { key: `wait-${at}`, kind: 'wait', bars: [bar('wait', spanOf(wait, end), wait.to === undefined && !isOver)] },
      ]
    })
    const calls = step.calls.map((call): Row => ({
      key: call.id,
      kind: 'call',
      step,
      call,
      bars: call.attempts.map(attemptBar),
    }))
    return [head, ...waiting, ...calls]
  })
  function attemptBar(attempt: CallAttempt, at: number, all: readonly CallAttempt[]): Bar {
    // An attempt whose end is not known ended before the next one began.
    const until = attempt.to ?? all[at + 1]?.from
    const kind = attempt.loss && attempt.to === undefined ? 'lost' : 'tool'
    return bar(kind, { from: attempt.from, to: until ?? to }, until === undefined && !isOver)
  }
  const tools = run.steps.flatMap(({ calls }) =>
    calls.flatMap(({ attempts }) => attempts.map((each) => spanOf(each, end))),
  )
  return {
    rows,
    modelMs: covered(models),
    toolMs: covered(tools),
    waitMs: covered(waits),
    totalMs: to - from,
    ticks: ticksOf(axis, waits, scale),
  }
}

interface End {
  readonly time: number
  readonly isOver: boolean
}

/** What is still open lasts until now. */
function spanOf({ from, to }: { readonly from: number; readonly to?: number }, { time }: End): Span {
  return { from, to: Math.max(from, to ?? time) }
}

function knownTimes({ steps, waits }: RunView): number[] {
  const attempts = steps.flatMap(({ calls }) => calls.flatMap((call) => call.attempts))
  return [...attempts, ...waits].map(({ from, to }) => to ?? from)
}

/** The time of the model in each step: from the end of what came before, until its calls start or the run waits. */
function modelSpans({ steps, waits }: RunView, start: number, end: End): Span[] {
  let from = start
  return steps.map((step, index) => {
    const attempts = step.calls.flatMap((call) => call.attempts)
    const waited = waits.filter((wait) => wait.step === step.number)
    const next = [...attempts, ...waited]
    const isLast = index === steps.length - 1
    const to = Math.max(from, next.length > 0 ? Math.min(...next.map((each) => each.from)) : isLast ? end.time : from)
    const span = { from, to }
    from = Math.max(to, ...next.map((each) => spanOf(each, end).to))
    return span
  })
}

/** Maps times to percent of the axis. */
function scaleOf({ from: start, to: end }: Span, waits: readonly Span[]): (time: number) => number {
  const waited = covered(waits)
  const active = Math.max(1, end - start - waited)
  const share = waits.length > 0 ? Math.min(0.4, waits.length * WAIT_SHARE) / waits.length : 0
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

/** The time that spans cover together. */
function covered(spans: readonly Span[]): number {
  let [sum, until] = [0, -Infinity]
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return sum
}

/** A few round times of the axis that lie outside the waits. */
function ticksOf(
  { from: start, to: end }: Span,
  waits: readonly Span[],
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
