import { join } from 'node:path'
import { FIGURES, type WorkersPlan } from '../../contract/platform.ts'
import type { InvocationCpu } from '../../platform/invocation.ts'
import { platformWith } from '../../testing/platform.ts'
import type { CheckProblem } from '../check/problem.ts'
import type { Target } from '../check/target.ts'
import { exampleQuestion } from '../dev/dev.ts'
import { listAllTools } from '../listing.ts'
import { startOffline } from '../offline.ts'
import { importWrangler } from '../wrangler.ts'

/** The cron triggers of an account on the Free plan. */
const MOST_CRONS = 5
/** How many runs are measured, after a first one that starts everything. */
const RUNS = 12

/** Returns what of the configuration of an edge cannot work on a plan. */
export function planProblems({ config: file, settings }: Target, plan: WorkersPlan): readonly CheckProblem[] {
  const { vars, triggers, worker_loaders: loaders, limits } = settings
  const { variable, subrequests } = FIGURES[plan]
  const problems: CheckProblem[] = []
  const add = (message: string, remedy: string) => problems.push({ file, message, remedy })
  for (const [name, value] of Object.entries(vars)) {
    const bytes = Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
    if (bytes > variable) add(`${name} has ${bytes} bytes; Cloudflare allows ${variable}.`, 'Make it shorter.')
  }
  if (plan === 'paid') return problems
  const most = Number(vars['MAX_SUBREQUESTS'] ?? (vars['WORKERS_PLAN'] === 'free' ? 0 : Infinity))
  if (most >= subrequests)
    add(
      `A run may make more than the ${subrequests} subrequests of an invocation on the Free plan.`,
      'Set WORKERS_PLAN = "free" under [vars].',
    )
  if (loaders.length > 0) add('The Free plan has no Dynamic Workers.', 'Remove [[worker_loaders]] and CODE_MODE.')
  const crons = triggers.crons?.length ?? 0
  if (crons > MOST_CRONS) add(`It has ${crons} cron triggers; a Free account has ${MOST_CRONS}.`, 'Use fewer.')
  if (limits) add('The Free plan has no [limits] of its own.', 'Remove them.')
  return problems
}

/** The CPU of a kind of invocation, in milliseconds. */
export interface KindCpu {
  readonly kind: 'edge' | 'object' | 'alarm' | 'tool'
  readonly invocations: number
  /** What half of the invocations take at most. */
  readonly median: number
  readonly most: number
}

/**
 * Runs the project on this machine with the offline model, and estimates the CPU of each kind of invocation. Only a tool
 * that declares `readOnly` is called.
 */
export async function measureCpu(
  { root, targets }: { readonly root: string; readonly targets: readonly Target[] },
  plan: WorkersPlan,
  signal: AbortSignal,
): Promise<readonly KindCpu[]> {
  const edge = targets.find(({ role }) => role === 'edge')
  if (!edge) return []
  const { createTestHarness } = await importWrangler()
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] ??= 'false'
  const offline = await startOffline()
  const platform = platformWith({ plan, logsCpu: true })
  const vars = { AUTH: 'open', MODEL: 'openai/offline', OPENAI_BASE_URL: offline.baseUrl }
  const others = targets.filter((target) => target !== edge).map(({ config }) => ({ configPath: join(root, config) }))
  const measure = async (ownVars: Record<string, string>, paths: readonly string[]) => {
    const edgeWorker = { configPath: join(root, edge.config), vars: { ...vars, ...ownVars } }
    const server = createTestHarness({ root, workers: await platform.workers([edgeWorker, ...others]) })
    try {
      const { url } = await server.listen()
      const { text, isFree } = exampleQuestion(await listAllTools({ url: url.origin, key: undefined }, signal))
      const ask = async (path: string, body: object) => {
        const headers = { 'content-type': 'application/json' }
        const options = { method: 'POST', headers, body: JSON.stringify(body), redirect: 'manual', signal } as const
        await (await fetch(new URL(path, url), options)).text()
      }
      await ask('/conversations', { id: 'doctor' })
      for (let run = 0; run <= RUNS; run++) {
        // An ordinary invocation neither compiles nor reads what the first one did.
        if (run === 1) server.clearLogs()
        for (const path of paths) await ask(path, { input: isFree ? text : 'Hello' })
      }
      return cpuByKind(platform.cpuOf(server), edge.baseName)
    } finally {
      await server.close().catch(() => {})
    }
  }
  try {
    const kinds = await measure({}, ['/runs', '/conversations/doctor/runs'])
    // Here the alarm continues each run, after its first request.
    const others = await measure({ MAX_SUBREQUESTS: '1' }, ['/conversations/doctor/runs'])
    return [...kinds.filter(({ kind }) => kind !== 'alarm'), ...others.filter(({ kind }) => kind === 'alarm')]
  } finally {
    platform.close()
    offline.close()
  }
}

/** Returns the CPU of each kind of invocation, from the lines of a log. */
export function cpuByKind(lines: readonly InvocationCpu[], edge: string): readonly KindCpu[] {
  const kindOf = ({ worker, where }: InvocationCpu): KindCpu['kind'] => {
    if (worker !== edge) return 'tool'
    if (where.endsWith('.alarm')) return 'alarm'
    return /^[A-Z]+ \//.test(where) ? 'edge' : 'object'
  }
  // An invocation whose work lasts longer than its answer has several lines.
  const sums = new Map<string, { readonly kind: KindCpu['kind']; ms: number }>()
  for (const line of lines) {
    const key = `${line.worker} ${line.invocation}`
    const sum = sums.get(key) ?? { kind: kindOf(line), ms: 0 }
    sum.ms += line.ms
    sums.set(key, sum)
  }
  return (['edge', 'object', 'alarm', 'tool'] as const).flatMap((kind) => {
    const all = [...sums.values()].flatMap((sum) => (sum.kind === kind ? [sum.ms] : [])).sort((a, b) => a - b)
    const most = all.at(-1)
    if (most === undefined) return []
    return [{ kind, invocations: all.length, median: all[(all.length - 1) >> 1] ?? most, most }]
  })
}

/** Formats the CPU of each kind beside the limit of the plan. */
export function cpuText(kinds: readonly KindCpu[], plan: WorkersPlan): string {
  const limit = FIGURES[plan].cpu
  const rows = kinds.map(({ kind, invocations, median, most }) => {
    const name = kind.padEnd(8)
    return `${name} ${String(median).padStart(4)} ms, at most ${most} ms in ${invocations} invocations\n`
  })
  return `CPU of an invocation, estimated on this machine (Cloudflare allows ${limit} ms):\n${rows.join('')}`
}

/** Returns the kinds of invocation of which half take longer than the plan allows. */
export function cpuProblems(kinds: readonly KindCpu[], plan: WorkersPlan, file: string): readonly CheckProblem[] {
  return kinds
    .filter(({ median }) => median > FIGURES[plan].cpu)
    .map(({ kind, median }) => ({
      file,
      message: `An invocation (${kind}) takes ${median} ms of CPU; Cloudflare allows ${FIGURES[plan].cpu} ms.`,
      remedy: 'Use the Paid plan, or fewer and smaller tools, messages and results.',
    }))
}
