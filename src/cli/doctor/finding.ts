import type { CheckProblem } from '../check/problem.ts'

/** Something that `edgecall doctor` has found. An `error` keeps something from working, a `warning` does not. */
export interface DoctorFinding extends CheckProblem {
  readonly level: 'error' | 'warning'
  readonly topic: 'versions' | 'project' | 'secrets' | 'tools' | 'drift' | 'descriptions' | 'plan'
}

/** Makes findings of problems. */
export function findingsOf(
  { level, topic }: Pick<DoctorFinding, 'level' | 'topic'>,
  problems: readonly CheckProblem[],
): readonly DoctorFinding[] {
  return problems.map((problem) => ({ level, topic, ...problem }))
}
