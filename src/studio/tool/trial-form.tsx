import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ModelField } from '../conversation/options.tsx'
import { model } from '../conversation/settings.ts'
import { ErrorNote } from '../part/problem.tsx'
import { quantity, shortened, visible } from '../part/text.ts'
import { tools, type CatalogueTool } from './catalogue.ts'
import { askAsStored, askWith, type Choice, withDescription } from './trial.ts'

/** One question, and what the model chose with the stored and with the other description. */
interface Trial {
  readonly question: string
  readonly current: Choice
  readonly variant?: Choice
}

const MOST_QUESTIONS = 50
const MOST_CHARACTERS = 120

/** Asks a model questions, and shows which tools it would call: with the description as it is, and with another. */
export function TrialForm({ tool }: { readonly tool: CatalogueTool }): JSX.Element {
  const { name, description = '' } = tool
  const text = useSignal(description)
  const questions = useSignal('')
  const trials = useSignal<readonly Trial[]>([])
  const error = useSignal<unknown>(undefined)
  const progress = useSignal('')
  const isBusy = useSignal(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])

  const ask = async (lines: readonly string[]) => {
    stop.current = new AbortController()
    const options = { model: model.value, signal: stop.current.signal }
    const variant = { tool: name, description: text.value }
    trials.value = []
    for (const [at, question] of lines.entries()) {
      progress.value = `Asking question ${at + 1} of ${lines.length}`
      const current = await askAsStored(question, name, options)
      const isChanged = variant.description !== description
      const clientTools = isChanged && withDescription(tools.value, current.tools, variant)
      const trial = {
        question,
        current,
        ...(clientTools && { variant: await askWith(question, clientTools, options) }),
      }
      trials.value = [...trials.value, trial]
    }
    progress.value = `Asked ${quantity(lines.length, 'question')}`
  }
  const start = async () => {
    const lines = questions.value.split('\n').flatMap((line) => line.trim() || [])
    error.value = undefined
    isBusy.value = true
    try {
      if (lines.length === 0) throw new Error('Write at least one question.')
      if (lines.length > MOST_QUESTIONS) throw new Error(`Write at most ${MOST_QUESTIONS} questions.`)
      await ask(lines)
    } catch (problem) {
      progress.value = stop.current.signal.aborted ? 'Stopped' : ''
      if (!stop.current.signal.aborted) error.value = problem
    }
    isBusy.value = false
  }
  return (
    <form
      class="call-form"
      aria-label={`Questions for ${name}`}
      onSubmit={(event) => {
        event.preventDefault()
        void start()
      }}
    >
      <p class="note">
        A model gets each question and chooses among the default tools and this one. The edge calls none of them. Change
        the description to compare the two texts; this stores nothing.
      </p>
      <ModelField />
      <label>
        Description to try
        <textarea rows={3} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <label>
        Questions, one a line
        <textarea rows={3} value={questions.value} onInput={(event) => (questions.value = event.currentTarget.value)} />
      </label>
      <div class="line">
        <button class="main" disabled={isBusy.value}>
          Ask the model
        </button>
        {isBusy.value && (
          <button type="button" onClick={() => stop.current.abort()}>
            Stop
          </button>
        )}
        <span class="note" role="status">
          {progress.value}
        </span>
      </div>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {trials.value.length > 0 && <Trials trials={trials.value} tool={name} />}
    </form>
  )
}

function Trials({ trials, tool }: { readonly trials: readonly Trial[]; readonly tool: string }): JSX.Element {
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
        <p class="note">
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
  if (calls.length === 0) return <td class="note">No tool: “{visible(shortened(answer, MOST_CHARACTERS))}”</td>
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
