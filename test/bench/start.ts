import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { memoryMib, processorMs } from './processor.ts'
import { quartiles, type Quartiles } from './statistics.ts'
import { type Bundles, edgeService } from './subjects.ts'
import { configure, serve, type Service } from './workerd.ts'

/** What a Worker weighs, and what its cold start costs beyond that of an empty Worker. */
export interface Start {
  readonly name: string
  readonly gzipKib: number
  /** How much later the first answer comes: quartiles of rounds, in milliseconds. */
  readonly laterMs: Quartiles
  /** How much more CPU time is used until then, which depends less on what else the machine does: the same. */
  readonly moreCpuMs: Quartiles
  /** What the process holds in memory after its first answer, beyond that with an empty Worker: the same, in MiB. */
  readonly moreMib: Quartiles
}

/** Starts each Worker in a workerd of its own, in turn with an empty one. */
export async function measureStarts(bundles: Bundles, folder: string, rounds: number): Promise<readonly Start[]> {
  const vars = { MODEL_URL: 'http://127.0.0.1:1' }
  const services: readonly Service[] = [
    { name: 'empty', bundle: bundles.empty },
    edgeService('edge', bundles.edge, { url: 'http://127.0.0.1:1', tools: 'edge' }),
    { name: 'AI SDK', bundle: bundles['ai-sdk'], vars },
    { name: 'TanStack AI', bundle: bundles.tanstack, vars },
  ]
  const configs = services.map((service, at) => {
    const place = join(folder, `start-${at}`)
    mkdirSync(place, { recursive: true })
    return configure([{ ...service, name: 'main', ...(service.name === 'edge' && { services: {} }) }], place)
  })
  const runs: { readonly ms: number; readonly cpuMs: number; readonly mib: number }[][] = services.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, config] of configs.entries()) {
      const workerd = await serve(config, ['main'])
      runs[at]?.push({ ms: workerd.startMs, cpuMs: processorMs(workerd.pid), mib: memoryMib(workerd.pid) })
      await workerd.stop()
    }
  }
  const [empty = []] = runs
  return services.map(({ name, bundle }, at) => ({
    name,
    gzipKib: bundle.bytes / 1024,
    laterMs: quartiles((runs[at] ?? []).map(({ ms }, round) => ms - (empty[round]?.ms ?? Number.NaN))),
    moreCpuMs: quartiles((runs[at] ?? []).map(({ cpuMs }, round) => cpuMs - (empty[round]?.cpuMs ?? Number.NaN))),
    moreMib: quartiles((runs[at] ?? []).map(({ mib }, round) => mib - (empty[round]?.mib ?? Number.NaN))),
  }))
}
