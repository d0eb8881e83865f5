import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ModelField } from '../conversation/options.tsx'
import { model } from '../conversation/settings.ts'
import { ErrorNote } from '../part/problem.tsx'
import { quantity } from '../part/text.ts'
import { tools, type CatalogueTool } from './catalogue.ts'
import { askAsStored, askWith, withDescription } from './trial.ts'
import { type Trial, Trials } from './trials.tsx'

const MOST_QUESTIONS = 50

/** Asks a model questions, and shows which tools it would call: with the description as it is, and with another. */
export function TrialForm({ tool }: { readonly tool: CatalogueTool }): JSX.Element {
  const text = useSignal(tool.description ?? '')
  const questions = useSignal('')
  const { trials, error, progress, isBusy, start, stop } = useTrials(tool)
  return (
    <form
      class="stack2"
      aria-label={`Questions for ${tool.name}`}
      onSubmit={(event) => {
        event.preventDefault()
        void start(questions.value, text.value)
      }}
    >
      <p class="hint">
        A model gets each question and chooses among the default tools and this one. The edge calls none of them. Change
        the description to compare the two texts; this stores nothing.
      </p>
      <ModelField />
      <label class="field">
        <span class="label">Description to try</span>
        <textarea rows={3} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <label class="field">
        <span class="label">Questions, one a line</span>
        <textarea rows={3} value={questions.value} onInput={(event) => (questions.value = event.currentTarget.value)} />
      </label>
      <div class="bar">
        <button class="btn solid" disabled={isBusy.value}>
          Ask the model
        </button>
        {isBusy.value && (
          <button type="button" class="btn" onClick={stop}>
            Stop
          </button>
        )}
        <span class="hint" role="status">
          {progress.value}
        </span>
      </div>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {trials.value.length > 0 && <Trials trials={trials.value} tool={tool.name} />}
    </form>
  )
}

interface TrialRun {
  readonly trials: Signal<readonly Trial[]>
  readonly error: Signal<unknown>
  readonly progress: Signal<string>
  readonly isBusy: Signal<boolean>
  /** Asks the questions in a text, one a line; `description` is compared with the stored one if it differs. */
  readonly start: (questions: string, description: string) => Promise<void>
  readonly stop: () => void
}

/** Asks questions one after another, until the form is closed. */
function useTrials({ name, description: stored = '' }: CatalogueTool): TrialRun {
  const trials = useSignal<readonly Trial[]>([])
  const error = useSignal<unknown>(undefined)
  const progress = useSignal('')
  const isBusy = useSignal(false)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const ask = async (lines: readonly string[], description: string, signal: AbortSignal) => {
    const options = { model: model.value, signal }
    trials.value = []
    for (const [at, question] of lines.entries()) {
      progress.value = `Asking question ${at + 1} of ${lines.length}`
      const current = await askAsStored(question, name, options)
      const clientTools =
        description !== stored && withDescription(tools.value, current.tools, { tool: name, description })
      const variant = clientTools && (await askWith(question, clientTools, options))
      trials.value = [...trials.value, { question, current, ...(variant && { variant }) }]
    }
    progress.value = `Asked ${quantity(lines.length, 'question')}`
  }
  const start = async (questions: string, description: string) => {
    const lines = questions.split('\n').flatMap((line) => line.trim() || [])
    const { signal } = (abort.current = new AbortController())
    error.value = undefined
    isBusy.value = true
    try {
      if (lines.length === 0) throw new Error('Write at least one question.')
      if (lines.length > MOST_QUESTIONS) throw new Error(`Write at most ${MOST_QUESTIONS} questions.`)
      await ask(lines, description, signal)
    } catch (problem) {
      progress.value = signal.aborted ? 'Stopped' : ''
      if (!signal.aborted) error.value = problem
    }
    isBusy.value = false
  }
  return { trials, error, progress, isBusy, start, stop: () => abort.current.abort() }
}
