import type { JSX } from 'preact'
import { isHeld, type CatalogueTool } from './catalogue.ts'

/** What a person should know of a tool at a glance: first what needs eyes. */
export function Badges({ tool }: { readonly tool: CatalogueTool }): JSX.Element {
  const { approval, annotations = {}, available, offered, undo } = tool
  const isHeldBack = isHeld(tool)
  const words: readonly (readonly [word: string, tone: string] | false)[] = [
    !available && [isHeldBack ? 'Waits to be accepted' : 'Not available', 'fail'],
    approval === 'always' && ['Needs approval', 'wait'],
    typeof approval === 'object' && ['May need approval', 'wait'],
    annotations.destructive === true && !undo && ['Cannot be undone', ''],
    annotations.untrusted === true && ['Untrusted data', ''],
    annotations.private === true && ['Private data', ''],
    available && offered === true && ['Offered by default', ''],
    available && offered === false && ['On request', ''],
  ]
  return (
    <>
      {words
        .filter((each) => each !== false)
        .map(([word, tone]) => (
          <span key={word} class={`badge ${tone}`}>
            {word}
          </span>
        ))}
    </>
  )
}
