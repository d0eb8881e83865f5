/** Returns the middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The first quartile, the median and the third quartile of some values. */
export interface Quartiles {
  readonly low: number
  readonly middle: number
  readonly high: number
}

/** Returns the quartiles of some values. */
export function quartiles(values: readonly number[]): Quartiles {
  return { low: quantile(values, 0.25), middle: quantile(values, 0.5), high: quantile(values, 0.75) }
}

/** Returns the geometric mean of some ratios. */
export function geometricMean(ratios: readonly number[]): number {
  return Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length)
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * part
  const below = sorted[Math.floor(at)] ?? Number.NaN
  const above = sorted[Math.ceil(at)] ?? Number.NaN
  return below + (above - below) * (at - Math.floor(at))
}
