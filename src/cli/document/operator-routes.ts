import type { Routes } from './operation.ts'
import { MISSING_RUN } from './run-routes.ts'

/** The routes by which operators look into the runs of conversations, and resume them. */
export const OPERATOR_ROUTES: Routes = {
  '/conversations/{id}/runs/{run}/steps/{step}/request': {
    get: {
      tag: 'Runs',
      id: 'getStepRequest',
      summary: 'Get the request that the model got in a step',
      description:
        'It is built again from the events of the run, before hooks and the provider’s format change it. Messages of earlier turns are chosen by the present window and summary.',
      scope: 'tools:admin and chat',
      answers: { 200: { says: 'The last request of the step.', json: 'StepRequest' } },
      errors: { ...MISSING_RUN, 400: '`step` is not a whole number from 1.' },
    },
  },
  '/conversations/{id}/runs/{run}/faults': {
    get: {
      tag: 'Runs',
      id: 'listFaults',
      summary: 'List the faults of a run, with their details for operators',
      description:
        'Failed requests to models, failed calls, and errors of hooks, as they are logged. At most 50 of a run, for `FAULT_DAYS` days.',
      scope: 'tools:admin and chat',
      answers: { 200: { says: 'The faults, in the order in which they happened.', json: 'Faults' } },
      errors: MISSING_RUN,
    },
  },
  '/conversations/{id}/runs/{run}/retry': {
    post: {
      tag: 'Runs',
      id: 'retryRun',
      summary: 'Resume a parked run',
      description: 'A run is parked if its conversation crashed three times while resuming it.',
      scope: 'chat',
      answers: { 200: { says: 'The run in its current state.', json: 'Run' } },
      errors: { ...MISSING_RUN, 409: 'The run is not parked.' },
    },
  },
}
