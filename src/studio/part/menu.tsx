import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface MenuProps {
  /** What stands on its button. */
  readonly label: ComponentChildren
  /** Classes of its button. */
  readonly look: string
  /** Whether it opens above its button. */
  readonly isUpward?: boolean
  readonly children: ComponentChildren
}

/** A button that opens fields over the page. Escape closes them, and so does a press outside of them. */
export function Menu({ label, look, isUpward = false, children }: MenuProps): JSX.Element {
  const box = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = (event: PointerEvent) => {
      const isInside = event.target instanceof Node && box.current?.contains(event.target) === true
      if (box.current && !isInside) box.current.open = false
    }
    addEventListener('pointerdown', close)
    return () => removeEventListener('pointerdown', close)
  }, [])
  return (
    <details
      ref={box}
      class={isUpward ? 'menu upward' : 'menu'}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.currentTarget.open = false
        event.currentTarget.querySelector('summary')?.focus()
      }}
    >
      <summary class={look}>{label}</summary>
      {children}
    </details>
  )
}
