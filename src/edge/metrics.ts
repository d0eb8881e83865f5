import type { DirectoryService, Objects } from '../contract/conversation.ts'
import type { RunReporter } from '../contract/report.ts'
import { writesDataPoints } from '../observe/analytics.ts'
import { metricsReporter } from '../observe/metrics-reporter.ts'
import type { SetupParts } from './parts.ts'

/** A feature of an edge: metrics and usage of its tenants. */
export type MetricsFeature = (parts: SetupParts, directories: Objects<DirectoryService>) => RunReporter

/**
 * Metrics and usage: each run that has ended is counted once for its tenant. The surface `metricsRoute` serves the metrics,
 * and `GET /usage?by=` the usage. The binding `METRICS`, an Analytics Engine dataset, gets a data point for each run too.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, metrics, surfaces: [metricsRoute] })
 */
export const metrics: MetricsFeature = ({ env: { METRICS: dataset } }, directories) =>
  metricsReporter(directories, writesDataPoints(dataset) ? dataset : undefined)
