import { BUCKETS, encodeLabels, METRICS, type MetricName, type Series } from '../contract/metrics.ts'

/** An addition to a counter, or a value that a histogram observes. */
export interface Sample {
  readonly name: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns what samples add to the series of metrics, each series once. */
export function seriesOf(samples: readonly Sample[]): Series[] {
  const series = new Map<string, Series>()
  const add = (part: Series) => {
    const id = JSON.stringify([part.name, part.labels, part.part, part.le])
    series.set(id, { ...part, value: part.value + (series.get(id)?.value ?? 0) })
  }
  for (const { name, labels: values, value } of samples) {
    const labels = encodeLabels(values)
    if (METRICS[name].type === 'counter') {
      add({ name, labels, part: 'value', le: 0, value })
      continue
    }
    add({ name, labels, part: 'sum', le: 0, value })
    add({ name, labels, part: 'bucket', le: BUCKETS.find((limit) => value <= limit) ?? -1, value: 1 })
  }
  return [...series.values()]
}
