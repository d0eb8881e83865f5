import type { CheckProblem } from './problem.ts'
import type { Target } from './target.ts'

/**
 * Returns why Workers that only act as if they did something are not to be deployed, unless that is allowed by name. A
 * Worker says so itself: `STAND_IN` in its `[vars]` names the variable without which it is one, such as `MAIL_URL`, or
 * is `always`.
 */
export function standInProblems(targets: readonly Target[], allowed: readonly string[]): readonly CheckProblem[] {
  return targets.flatMap(({ config, name, baseName, settings: { vars } }) => {
    const { STAND_IN: until } = vars
    if (typeof until !== 'string' || allowed.includes(name) || allowed.includes(baseName)) return []
    if (until !== 'always' && typeof vars[until] === 'string' && vars[until] !== '') return []
    const [what, remedy] =
      until === 'always'
        ? ['made-up data', '']
        : [`a stand-in, since ${until} is not set`, `Set ${until} in [vars], or`]
    return [
      {
        file: config,
        message: `${baseName} would answer with ${what}.`,
        remedy: `${remedy === '' ? 'Take' : `${remedy} take`} its [[services]] stanza out, or deploy it as it is with --allow-stand-in ${baseName}.`,
      },
    ]
  })
}
