import type { JSX } from 'preact'
import { Icon } from '../part/icon.tsx'
import { callLook } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { argumentHint, duration } from '../part/text.ts'
import { tools } from '../tool/catalogue.ts'
import type { CallView } from './run-view.ts'

/** A call as a link to its details. */
export function CallChip({ call, href }: { readonly call: CallView; readonly href: string }): JSX.Element {
  const { icon, tone, word } = callLook(call.state)
  const time = call.durationMs !== undefined && duration(call.durationMs)
  return (
    <a class={`chip ${tone === '' ? '' : `is-${tone}`}`} href={href}>
      <Icon name={icon} isSmall />
      <span class="mono">{visible(call.tool)}</span>
      <span class="faint cut">{[argumentHint(call.arguments), time].filter(Boolean).join(' · ')}</span>
      <span class="hidden">{word}</span>
    </a>
  )
}

/** Tells a person of a call of which nobody knows whether it took effect. Nothing for others. */
export function DoubtNote({ call }: { readonly call: CallView | undefined }): JSX.Element | null {
  if (!call?.inDoubt || tools.value.get(call.tool)?.annotations?.readOnly) return null
  return (
    <p class="note fail" role="alert">
      <Icon name="warning" />
      <span>
        <b>Nobody knows whether {visible(call.tool)} took effect.</b>{' '}
        {`${call.approval?.decision === 'approve' ? 'It was approved and sent' : 'It was sent'}, and its outcome is lost. Look at its service before it is called again.`}
      </span>
    </p>
  )
}
