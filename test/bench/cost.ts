import { processorMs } from './processor.ts'
import { type Quartiles, quartiles } from './statistics.ts'
import type { Subject } from './subjects.ts'
import { ALONE, LAST_WORD, STORED, type Workload, WORKLOADS } from './workloads.ts'

const WARM_REQUESTS = 20
const WARM_MS = 700

/** What a request cost in a round, on average. */
interface Cost {
  readonly cpuMs: number
  readonly wallMs: number
}

/** What a workload costs a subject: the quartiles of all rounds, in milliseconds of one request. */
export interface Cell {
  readonly workload: string
  readonly subject: string
  readonly cpu: Quartiles
  readonly wall: Quartiles
  /** CPU over that of another subject in the same round: the quartiles of all rounds, by the other subject's name. */
  readonly ratios: Readonly<Record<string, Quartiles>>
}

/** How thoroughly to measure. */
export interface Effort {
  readonly rounds: number
  /** The longest conversation, in messages. */
  readonly longest: number
}

/**
 * Measures every workload on every subject, round by round in a new order, so that what else the machine does falls on
 * all alike. `onCells` gets the cells of one workload at a time.
 */
export async function measureCosts(
  subjects: readonly Subject[],
  { rounds, longest }: Effort,
  onCells: (cells: readonly Cell[]) => void,
): Promise<readonly Cell[]> {
  const all: Cell[] = []
  const stored = STORED.filter(({ conversation }) => typeof conversation === 'string' || (conversation ?? 0) <= longest)
  for (const workload of [...WORKLOADS, ...ALONE, ...stored]) {
    const fit = subjects.filter(({ stores }) => (stores ? !ALONE.includes(workload) : !stored.includes(workload)))
    const cells = await measure(fit, workload, rounds)
    onCells(cells)
    all.push(...cells)
  }
  return all
}

async function measure(subjects: readonly Subject[], workload: Workload, rounds: number): Promise<readonly Cell[]> {
  const costs = new Map<Subject, Cost[]>(subjects.map((subject) => [subject, []]))
  for (const subject of subjects) await warm(subject, workload)
  for (let round = 0; round < rounds; round++) {
    for (const subject of shuffled(subjects)) costs.get(subject)?.push(await spend(subject, workload))
  }
  return subjects.map((subject) => {
    const own = costs.get(subject) ?? []
    const quartilesOver = (other: readonly Cost[]) =>
      quartiles(own.map(({ cpuMs }, round) => cpuMs / (other[round]?.cpuMs ?? Number.NaN)))
    return {
      workload: workload.name,
      subject: subject.name,
      cpu: quartiles(own.map(({ cpuMs }) => cpuMs)),
      wall: quartiles(own.map(({ wallMs }) => wallMs)),
      ratios: Object.fromEntries([...costs].map(([{ name }, other]) => [name, quartilesOver(other)])),
    }
  })
}

/** The conversations that have been filled, by subject and workload. */
const filled = new Map<string, string>()
let count = 0

/** Requests until the code is compiled, which are not counted. */
async function warm(subject: Subject, workload: Workload): Promise<void> {
  if (subject.stores && typeof workload.conversation === 'number') await fill(subject, workload, workload.conversation)
  const began = performance.now()
  for (let at = 0; at < WARM_REQUESTS && performance.now() - began < WARM_MS; at++) {
    await ask(subject, workload, conversationOf(subject, workload, `warm-${++count}`))
  }
}

/** Fills the conversation of a workload by runs, each a question and an answer. */
async function fill(subject: Subject, workload: Workload, messages: number): Promise<void> {
  const id = `long-${++count}`
  for (let at = 0; at < messages / 2; at++) await ask(subject, workload, id)
  filled.set(`${subject.name}/${workload.name}`, id)
}

function conversationOf(subject: Subject, workload: Workload, otherwise: string): string {
  return filled.get(`${subject.name}/${workload.name}`) ?? otherwise
}

/** Returns the cost of a request: the average of a round. */
async function spend(subject: Subject, workload: Workload): Promise<Cost> {
  const { requests, conversation } = workload
  const id = conversationOf(subject, workload, `round-${++count}`)
  // Unless that is what is measured, the conversation exists before.
  if (subject.stores && conversation === undefined) await ask(subject, workload, id)
  const cpu = processorMs(subject.pid)
  const began = performance.now()
  for (let at = 0; at < requests; at++) {
    await ask(subject, workload, conversation === 'new' ? `new-${++count}` : id)
  }
  const wallMs = (performance.now() - began) / requests
  return { cpuMs: (processorMs(subject.pid) - cpu) / requests, wallMs }
}

async function ask(subject: Subject, workload: Workload, conversation: string): Promise<void> {
  const { url, headers, body } = subject.request(workload, conversation)
  const response = await fetch(url, { method: 'POST', headers, body })
  const text = await response.text()
  if (response.ok && text.includes(LAST_WORD)) return
  throw new Error(`${subject.name}, ${workload.name}: ${response.status} ${text.slice(0, 2000)}`)
}

function shuffled<Value>(values: readonly Value[]): readonly Value[] {
  return values
    .map((value) => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value)
}

/** Returns the median CPU time of a cell. */
export function cpuOf(cells: readonly Cell[], subject: string, workload: string): number {
  return cells.find((cell) => cell.subject === subject && cell.workload === workload)?.cpu.middle ?? Number.NaN
}

/** Returns the median over all rounds of one workload's CPU over that of a floor. */
export function ratioOf(cells: readonly Cell[], subject: string, workload: string, floor: string): number {
  const cell = cells.find((each) => each.subject === subject && each.workload === workload)
  return cell?.ratios[floor]?.middle ?? Number.NaN
}
