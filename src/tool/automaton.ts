/** A regular expression's shape: what one character matches, and how such parts follow each other. */
export type Part =
  | { readonly is: 'character'; readonly source: string }
  | { readonly is: 'row' | 'choice'; readonly parts: readonly Part[] }
  | { readonly is: 'repeat'; readonly part: Part; readonly min: number; readonly max: number }

/** The places of a pattern (one a character class), which can follow which, and what each matches. */
export interface Loops {
  readonly follow: readonly ReadonlySet<number>[]
  /** A bit for each sampled character that the place matches. */
  readonly masks: readonly bigint[]
  /** One place follows another in two ways through nested repeats, as in `(a+)+`. */
  readonly doubled: boolean
}

interface Fragment {
  readonly nullable: boolean
  readonly first: readonly number[]
  readonly last: readonly number[]
}

const EMPTY: Fragment = { nullable: true, first: [], last: [] }

/**
 * The position automaton of a pattern (Glushkov's construction). Counted repeats are written out; those of an endless
 * repeat, and those for which `most` places are too few, count as endless. Undefined for a pattern of more places.
 */
export function loopsOf(root: Part, most: number): Loops | undefined {
  const masks: bigint[] = []
  const follow: Set<number>[] = []
  let doubled = false
  const link = (from: readonly number[], to: readonly number[]): void => {
    for (const p of from) {
      for (const q of to) {
        if (follow[p]?.has(q)) doubled = true
        follow[p]?.add(q)
      }
    }
  }
  const join = (a: Fragment, b: Fragment): Fragment => {
    link(a.last, b.first)
    return {
      nullable: a.nullable && b.nullable,
      first: a.nullable ? [...a.first, ...b.first] : a.first,
      last: b.nullable ? [...a.last, ...b.last] : b.last,
    }
  }
  const build = (part: Part): Fragment => {
    if (part.is === 'row') return part.parts.map(build).reduce(join, EMPTY)
    if (part.is === 'repeat') return repeat(part.part, part.min, part.max)
    if (part.is === 'character') {
      follow.push(new Set())
      const place = masks.push(maskOf(part.source)) - 1
      return { nullable: false, first: [place], last: [place] }
    }
    const choices = part.parts.map(build)
    return {
      nullable: choices.some((choice) => choice.nullable),
      first: choices.flatMap((choice) => choice.first),
      last: choices.flatMap((choice) => choice.last),
    }
  }
  const repeat = (part: Part, min: number, max: number): Fragment => {
    if (max === 0) return EMPTY
    const copies = max === Infinity ? Math.max(min, 1) : max
    const tooMany = masks.length + sizeOf(part) * copies > most / 2
    if (copies > 1 && (tooMany || isEndless(part))) return loop(part, min === 0)
    if (max === Infinity) {
      const needed = Array.from({ length: copies - 1 }, () => build(part))
      return [...needed, loop(part, min === 0)].reduce(join)
    }
    // x{1,3} is x(x(x)?)?: each further copy is there only where the one before is.
    const fragments = Array.from({ length: max }, () => build(part))
    return fragments.reduceRight((rest, copy, index) => {
      const joined = join(copy, rest)
      return { ...joined, nullable: index >= min || joined.nullable }
    }, EMPTY)
  }
  const loop = (part: Part, nullable: boolean): Fragment => {
    const body = build(part)
    link(body.last, body.first)
    return { ...body, nullable: nullable || body.nullable }
  }
  if (sizeOf(root) > most) return undefined
  build(root)
  return masks.length > most ? undefined : { masks, follow, doubled }
}

function sizeOf(part: Part): number {
  if (part.is === 'character') return 1
  return part.is === 'repeat' ? sizeOf(part.part) : part.parts.reduce((sum, inner) => sum + sizeOf(inner), 0)
}

function isEndless(part: Part): boolean {
  if (part.is === 'character') return false
  return part.is === 'repeat' ? part.max === Infinity || isEndless(part.part) : part.parts.some(isEndless)
}

/** ASCII, and a few from elsewhere: two classes that share a character nearly always share one of these. */
const SAMPLES = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  '\u00a0',
  'é',
  'Ж',
  'я',
  '٣',
  '中',
  '😀',
]
const ALL = (1n << BigInt(SAMPLES.length)) - 1n

function maskOf(source: string): bigint {
  const matcher = new RegExp(`^${source}$`, 'u')
  const mask = SAMPLES.reduce((bits, sample, bit) => (matcher.test(sample) ? bits | (1n << BigInt(bit)) : bits), 0n)
  // Of what matches no sample nothing is known.
  return mask === 0n ? ALL : mask
}

/**
 * True where some text leads from a place back to itself in two ways, so that n rounds match in 2^n ways: two readings
 * of one text part, and meet again in the same loop. Also true where that would take too long to find out.
 */
export function hasExponentialLoop({ follow, masks, doubled }: Loops): boolean {
  if (doubled) return true
  const precede = follow.map(() => new Set<number>())
  follow.forEach((next, place) => next.forEach((after) => precede[after]?.add(place)))
  const budget = { steps: MOST_STEPS }
  return componentsOf(follow, budget).some((component) => {
    const parted = readings(component, follow, masks, budget)
    const meeting = readings(component, precede, masks, budget)
    return budget.steps < 0 || [...parted].filter((at) => meeting.has(at)).length > component.size
  })
}

type Graph = readonly ReadonlySet<number>[]

const MOST_STEPS = 4_000_000

/** The sets of places that all lead to each other. */
function componentsOf(follow: Graph, budget: { steps: number }): ReadonlySet<number>[] {
  const reached = follow.map((_, place) => {
    const seen = new Set<number>()
    const open = [place]
    for (let at = open.pop(); at !== undefined && budget.steps > 0; at = open.pop()) {
      for (const next of follow[at] ?? []) {
        budget.steps -= 1
        if (seen.has(next)) continue
        seen.add(next)
        open.push(next)
      }
    }
    return seen
  })
  const done = new Set<number>()
  return reached.flatMap((places, place) => {
    if (done.has(place) || !places.has(place)) return []
    const component = new Set([...places].filter((other) => reached[other]?.has(place)))
    component.forEach((member) => done.add(member))
    return [component]
  })
}

/** The pairs of places, as one number each, that two readings of one text reach when both start at one place. */
function readings(
  component: ReadonlySet<number>,
  graph: Graph,
  masks: readonly bigint[],
  budget: { steps: number },
): ReadonlySet<number> {
  const pair = (a: number, b: number): number => Math.min(a, b) * masks.length + Math.max(a, b)
  const seen = new Set([...component].map((place) => pair(place, place)))
  // A set's iteration also visits what is added on the way.
  for (const at of seen) {
    for (const a of graph[Math.floor(at / masks.length)] ?? []) {
      for (const b of graph[at % masks.length] ?? []) {
        if ((budget.steps -= 1) < 0) return seen
        if (!component.has(a) || !component.has(b)) continue
        if (((masks[a] ?? 0n) & (masks[b] ?? 0n)) !== 0n) seen.add(pair(a, b))
      }
    }
  }
  return seen
}
