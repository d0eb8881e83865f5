import type { Objects } from '../contract/conversation.ts'
import type { RunDirectory, RunShard } from '../contract/directory.ts'
import type { RunReporter } from '../contract/report.ts'
import { MeteredDirectory } from '../conversation/metered-directory.ts'
import { writesDataPoints } from '../observe/analytics.ts'
import { metricsReporter } from '../observe/metrics-reporter.ts'
import type { Surface } from '../http/surface.ts'
import { usageBy } from '../http/surfaces/usage-by.ts'
import { shardedRuns } from './sharded-runs.ts'
import type { SetupParts } from './parts.ts'

/** A feature of an edge: metrics and usage of its tenants, and a list of their runs. */
export interface MetricsFeature {
  /** `GET /usage?by=`. */
  readonly surface: Surface
  /** Makes one of the runs that the objects of a directory list. */
  runs(directories: Objects<RunShard>, objects: number): Objects<RunDirectory>
  /** Makes the reporter that counts and lists runs. */
  reporter(parts: SetupParts, directories: Objects<RunDirectory>): RunReporter
  /** The Durable Object class that counts and lists them. */
  readonly Directory: typeof MeteredDirectory
}

/**
 * Metrics and usage: each run that has ended is counted once for its tenant. The surface `metricsRoute` serves the
 * metrics, and `GET /usage?by=` the usage; the surface `runList` serves the list of runs and of the calls that wait for
 * people. The binding `METRICS`, an Analytics Engine dataset, gets a data point for each run too.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, metrics, surfaces: [metricsRoute] })
 */
export const metrics: MetricsFeature = {
  surface: usageBy,
  runs: shardedRuns,
  reporter: ({ env: { METRICS: dataset } }, directories) =>
    metricsReporter(directories, writesDataPoints(dataset) ? dataset : undefined),
  Directory: MeteredDirectory,
}
