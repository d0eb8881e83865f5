import type { JSX } from 'preact'
import type { RunStatus } from '../../contract/run.ts'
import type { CallStage } from '../run/run-view.ts'
import { Icon, type IconName } from './icon.tsx'

/** How a state looks: an icon, a word and a colour. States that need nobody's eyes have no colour. */
export interface StateLook {
  readonly icon: IconName
  readonly word: string
  readonly tone: '' | 'model' | 'tool' | 'wait' | 'fail' | 'retry'
  readonly isSpinning?: true
}

const RUNNING: StateLook = { icon: 'running', word: 'Running', tone: 'model', isSpinning: true }

const RUN_LOOKS: Readonly<Record<RunStatus, StateLook>> = {
  queued: { icon: 'clock', word: 'Queued', tone: '' },
  running: RUNNING,
  waiting: { icon: 'clock', word: 'Waiting', tone: 'wait' },
  parked: { icon: 'warning', word: 'Parked', tone: 'fail' },
  cancelling: { ...RUNNING, word: 'Stopping' },
  completed: { icon: 'ok', word: 'Completed', tone: '' },
  failed: { icon: 'cross', word: 'Failed', tone: 'fail' },
  cancelled: { icon: 'stop', word: 'Stopped', tone: '' },
}

/** How the status of a run looks; `limit`: the run has reached one. */
export function runLook(status: RunStatus, limit?: string): StateLook {
  const isLimited = limit !== undefined && (status === 'failed' || status === 'completed')
  return isLimited ? { icon: 'warning', word: 'Limit', tone: 'fail' } : RUN_LOOKS[status]
}

const CALL_LOOKS: Readonly<Record<CallStage, StateLook>> = {
  proposed: { icon: 'clock', word: 'Asked for', tone: '' },
  approval: { icon: 'approval', word: 'Needs approval', tone: 'wait' },
  rejected: { icon: 'cross', word: 'Rejected', tone: 'fail' },
  caller: { icon: 'clock', word: 'Waits for its caller', tone: 'wait' },
  suspended: { icon: 'clock', word: 'Waits for its calls', tone: 'wait' },
  running: RUNNING,
  later: { icon: 'clock', word: 'Answers later', tone: 'wait' },
  interrupted: { icon: 'loop', word: 'Interrupted', tone: 'retry' },
  ok: { icon: 'ok', word: 'Done', tone: '' },
  failed: { icon: 'cross', word: 'Failed', tone: 'fail' },
}

export function callLook(stage: CallStage): StateLook {
  return CALL_LOOKS[stage]
}

/** A state as icon and word, always both. */
export function State({ look }: { readonly look: StateLook }): JSX.Element {
  return (
    <span class={`st ${look.tone}`}>
      <Icon name={look.icon} isSmall isSpinning={look.isSpinning === true} />
      <span class="lb">{look.word}</span>
    </span>
  )
}

/** A state on a tint, in a heading. */
export function StateBadge({ look }: { readonly look: StateLook }): JSX.Element {
  return (
    <span class={`badge ${look.tone}`}>
      <Icon name={look.icon} isSmall isSpinning={look.isSpinning === true} />
      {look.word}
    </span>
  )
}
