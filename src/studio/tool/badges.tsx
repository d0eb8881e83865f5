import type { JSX } from 'preact'
import { isHeld, type CatalogueTool } from './catalogue.ts'

/** What a person should know of a tool at a glance. */
export function Badges({ tool }: { readonly tool: CatalogueTool }): JSX.Element {
  const { approval, annotations = {}, available, source } = tool
  const words = [
    source === 'service' ? '' : source === 'kv' ? 'stored' : source,
    available ? '' : isHeld(tool) ? 'held back' : 'not available',
    approval === 'always' ? 'needs approval' : typeof approval === 'object' ? 'may need approval' : '',
    annotations.destructive ? 'destructive' : '',
    annotations.untrusted ? 'untrusted data' : '',
    annotations.private ? 'private data' : '',
  ]
  return (
    <>
      {words.filter(Boolean).map((word) => (
        <span key={word} class={word === 'not available' || word === 'held back' ? 'badge bad' : 'badge'}>
          {word}
        </span>
      ))}
    </>
  )
}
