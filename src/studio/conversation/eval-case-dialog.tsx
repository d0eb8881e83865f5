import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { isObject } from '../../contract/json.ts'
import { CopyButton } from '../part/copy-button.tsx'
import { Dialog } from '../part/dialog.tsx'
import { download } from '../part/download.ts'
import { jsonOrText } from '../part/text.ts'
import { evalCase, type EvalTurn } from './eval-case.ts'

/** A case for `edgecall eval`, which a person edits before it is copied or saved. */
export function EvalCaseDialog({
  turn,
  onClose,
}: {
  readonly turn: EvalTurn
  readonly onClose: () => void
}): JSX.Element {
  const text = useSignal(JSON.stringify(evalCase(turn), null, 2))
  const value = jsonOrText(text.value)
  const isCase = isObject(value)
  const line = () => JSON.stringify(value)
  return (
    <Dialog title="Copy as eval case" onClose={onClose}>
      <p class="dim">
        <code>edgecall eval</code> asks this question again and checks the calls and the answer. Keep what must hold: in
        a text, <code>*</code> stands for any text.
      </p>
      <label class="field">
        <span class="label">Case</span>
        <textarea
          class="in code"
          rows={14}
          spellcheck={false}
          aria-invalid={!isCase}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        {!isCase && <span class="hint fail">This is not a JSON object.</span>}
      </label>
      <div class="bar wrap">
        <span class="grow" />
        <button type="button" class="btn" onClick={onClose}>
          Close
        </button>
        {isCase && (
          <>
            <button type="button" class="btn" onClick={() => download('cases.jsonl', new Blob([`${line()}\n`]))}>
              Download
            </button>
            <CopyButton text={line} what="case" isSolid />
          </>
        )}
      </div>
    </Dialog>
  )
}
