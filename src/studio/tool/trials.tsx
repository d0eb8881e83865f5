import type { JSX } from 'preact'
import { visible } from '../../contract/hidden-characters.ts'
import { shortened } from '../part/text.ts'
import type { Choice } from './trial.ts'

/** One question, and what the model chose with the stored and with the other description. */
export interface Trial {
  readonly question: string
  readonly current: Choice
  readonly variant?: Choice
}

const MOST_CHARACTERS = 120

/** What the model chose for each question. */
export function Trials({ trials, tool }: { readonly trials: readonly Trial[]; readonly tool: string }): JSX.Element {
  const isCompared = trials.some(({ variant }) => variant !== undefined)
  const missing = new Set(
    trials.flatMap(({ current, variant }) =>
      variant ? current.tools.filter((name) => !variant.tools.includes(name)) : [],
    ),
  )
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="What the model chose">
        <table>
          <thead>
            <tr>
              <th scope="col">Question</th>
              <th scope="col">Stored description</th>
              {isCompared && <th scope="col">Description to try</th>}
            </tr>
          </thead>
          <tbody>
            {trials.map(({ question, current, variant }, index) => (
              <tr key={index}>
                <th scope="row">{visible(question)}</th>
                <Cell choice={current} tool={tool} />
                {variant && <Cell choice={variant} tool={tool} />}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {missing.size > 0 && (
        <p class="hint">
          Only on offer with the stored description, since the list of tools does not have them:{' '}
          {[...missing].join(', ')}
        </p>
      )}
    </>
  )
}

function Cell({ choice, tool }: { readonly choice: Choice; readonly tool: string }): JSX.Element {
  const { calls, answer, error } = choice
  if (error !== undefined) return <td class="fault">{visible(error)}</td>
  if (calls.length === 0) return <td class="hint">No tool: “{visible(shortened(answer, MOST_CHARACTERS))}”</td>
  return (
    <td>
      {calls.map((name, index) => (
        <span key={index}>
          {index > 0 && ', '}
          {name === tool ? <b>{name}</b> : visible(name)}
        </span>
      ))}
    </td>
  )
}
