import type { Reply, StepRequest } from '../../contract/conversation.ts'
import type { Setup } from '../../contract/setup.ts'
import { fold } from '../../loop/fold.ts'
import { modelRequest } from '../../loop/perform/prompt.ts'
import type { RunState } from '../../loop/state.ts'
import { decodeLine } from '../../wire/events.ts'
import { historyBefore } from '../history/history.ts'
import { windowOptions } from '../history/window-options.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import { positionOf } from '../store/messages.ts'
import { refusalOf, UNKNOWN_RUN } from './refusals.ts'
import { stateBefore } from './replay.ts'

/**
 * Builds the last request of a step again, as the loop builds it: from the events of the run up to the answer, the tools
 * as they were pinned, and the earlier messages. These are chosen by the present window and summary, which may have
 * changed since. Nothing of the request itself is stored.
 */
export function stepRequest(
  setup: Setup,
  store: Store,
  { runId, step }: { readonly runId: string; readonly step: number },
): Reply<{ readonly request: StepRequest }> {
  const run = store.runs.row(runId) && store.runs.get(runId)
  if (!run) return UNKNOWN_RUN
  const state = stateInStep(store, run, step)
  if (!state) return refusalOf('unknown_step', `The model got no request in step ${step} of this run.`)
  const view = windowOptions(setup, store)
  const reduction = state.reduction ?? store.reductionBefore(run.place)
  const { messages, from } = historyBefore(store.messages, run.place, { ...view, reduction })
  const hasSummary = view.options.summary && view.isSliding
  const history = [...((hasSummary && setup.summaries?.earlier(store, from)) || []), ...messages]
  const prompt = { position: positionOf(run.place), reduction }
  const model = setup.models.resolve(state.request.model)
  const {
    patience: _patience,
    cacheKey: _cacheKey,
    ...request
  } = modelRequest({
    state,
    history,
    prompt,
    model: model.ok ? model.model : {},
  })
  // Pruning shortens the tools of older runs, which then have no hash.
  const isShort = run.tools.some(({ hash }) => hash === '')
  const facts = { run: runId, step, model: state.request.model, historyLength: history.length }
  return { ok: true, request: { ...facts, ...(isShort && { hasShortTools: true }), ...request } }
}

/** Returns the state of a run in a step before the model answered; undefined if there was no such step. */
function stateInStep(store: Store, run: StoredRun, step: number): RunState | undefined {
  const state = stateBefore(run)
  for (const { lines } of store.events.after(run.id, 0)) {
    for (const line of lines) {
      const event = decodeLine(line)
      const isOver = event && ANSWER_EVENTS.has(event.type)
      if (isOver && state.step?.step === step) return state
      if (event) fold(state, event)
    }
  }
  return state.step?.step === step ? state : undefined
}

/** The events that end what a model can be sent in a step. */
const ANSWER_EVENTS: ReadonlySet<string> = new Set(['step.answered', 'answer.cut', 'run.finished'])
