import type { ComponentChildren, JSX } from 'preact'
import { Icon } from '../part/icon.tsx'
import type { RunAddress } from '../route.ts'
import type { RunView } from './run-view.ts'

/** What the details of a step or a call are made from. */
export interface ItemProps<Item> {
  readonly item: Item
  readonly run: RunView
  readonly address: RunAddress
  /** The address of another row of the same run; of undefined that of the run itself. */
  readonly hrefTo: (key: string | undefined) => string
}

interface HeadProps {
  readonly title: string
  readonly isMono?: boolean
  /** Where the button leads that a phone shows, on which the details are a page of their own. */
  readonly back: string
  readonly children?: ComponentChildren
}

/** The head of the details: what they are about, and the way back on a phone. */
export function DetailHead({ title, isMono = false, back, children }: HeadProps): JSX.Element {
  return (
    <header>
      <a class="btn quiet icon back" href={back} aria-label="Back to the timeline">
        <Icon name="back" />
      </a>
      <h2 class={isMono ? 'mono' : ''}>{title}</h2>
      {children}
    </header>
  )
}
