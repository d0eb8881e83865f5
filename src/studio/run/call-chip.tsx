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

/** Tells a person of a call of which nobody knows whether it took effect, and of those that an agent has made in it. Nothing for others. */
export function DoubtNote({ call }: { readonly call: CallView | undefined }): JSX.Element | null {
  const isOwn = call?.inDoubt && !tools.value.get(call.tool)?.annotations?.readOnly
  const { tool, approval, callsInDoubt = [] } = call ?? {}
  if (!isOwn && callsInDoubt.length === 0) return null
  return (
    <>
      {isOwn && (
        <Doubt what={tool} how={approval?.decision === 'approve' ? 'It was approved and sent' : 'It was sent'} />
      )}
      {callsInDoubt.map((each) => (
        <Doubt
          key={JSON.stringify(each)}
          what={each.times === undefined ? `${each.tool}(${each.arguments})` : each.tool}
          how={`The agent ${[tool, each.by].filter(Boolean).join(' > ')} has sent it`}
        />
      ))}
    </>
  )
}

function Doubt({ what = '', how }: { readonly what: string | undefined; readonly how: string }): JSX.Element {
  return (
    <p class="note fail" role="alert">
      <Icon name="warning" />
      <span>
        <b>Nobody knows whether {visible(what)} took effect.</b>{' '}
        {`${how}, and its outcome is lost. Look at its service before it is called again.`}
      </span>
    </p>
  )
}
