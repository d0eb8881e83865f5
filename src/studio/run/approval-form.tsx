import { useSignal } from '@preact/signals'
import type { JSX, RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import { isObject } from '../../contract/json.ts'
import { type CatalogueTool, tools } from '../tool/catalogue.ts'
import { ErrorNote } from '../part/problem.tsx'
import { jsonOrText, visible } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import type { RunAddress } from '../route.ts'
import { sendDecision } from './decide.ts'
import { emptyAnswers, AnswerFields } from './answer-fields.tsx'
import { watchRun } from './run-store.ts'
import type { CallView } from './run-view.ts'

type CallToApprove = Pick<CallView, 'id' | 'tool' | 'arguments' | 'approval'>

interface FormProps {
  readonly call: CallToApprove
  /** What is known of the tool. Default: what the list of tools says. */
  readonly definition?: KnownTool | undefined
  readonly address: RunAddress
  /** Default: the run is followed on. */
  readonly onDecided?: (decision: 'approve' | 'reject') => void
}

type KnownTool = Pick<CatalogueTool, 'description' | 'annotations' | 'undo'>

/** Asks a person to decide on a call, and shows what the decision is about. */
export function ApprovalForm({
  call,
  definition,
  address,
  onDecided = () => watchRun(address),
}: FormProps): JSX.Element {
  const reason = useRef<HTMLInputElement>(null)
  const isBusy = useSignal(false)
  const isEditing = useSignal(false)
  const editor = useRef<HTMLTextAreaElement>(null)
  const questions = call.approval?.questions
  const answers = useSignal(emptyAnswers(questions ?? []))
  const error = useSignal<unknown>(undefined)
  const send = async (decision: 'approve' | 'reject') => {
    isBusy.value = true
    error.value = undefined
    const reasonText = reason.current?.value.trim() ?? ''
    try {
      const changes = decision === 'approve' && isEditing.value ? changesIn(editor.current?.value ?? '') : undefined
      const input = decision === 'approve' && questions ? answers.value : undefined
      const values = { reason: reasonText, arguments: call.arguments, changes, input }
      await sendDecision(address, { call: call.id, decision, ...values })
      onDecided(decision)
    } catch (problem) {
      error.value = problem
    }
    isBusy.value = false
  }
  const tool: KnownTool = definition ?? tools.value.get(call.tool) ?? {}
  const { description } = tool
  return (
    <form
      class="decision"
      aria-label={`Approve ${call.tool}?`}
      // Enter in the reason decides nothing: it may be the reason for either decision.
      onSubmit={(event) => event.preventDefault()}
    >
      <p>
        <b>{call.tool}</b> {description && <span class="note">{visible(description)}</span>}
      </p>
      {questions ? (
        <AnswerFields questions={questions} answers={answers.value} onChange={(changed) => (answers.value = changed)} />
      ) : (
        <p class="note">{reversible(tool)}</p>
      )}
      {call.approval?.because === 'untrusted_data' && (
        <p class="fault">
          The run has read texts of third parties as well as private data; this call could carry that data out.
        </p>
      )}
      <Arguments text={call.arguments} editor={isEditing.value ? editor : undefined} />
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <div class="line">
        <input ref={reason} class="grow" placeholder="Reason, which the model reads" aria-label="Reason" />
        <button type="button" disabled={isBusy} onClick={() => send('reject')}>
          Reject
        </button>
        {!questions && (
          <button
            type="button"
            disabled={isBusy}
            aria-pressed={isEditing.value}
            onClick={() => (isEditing.value = !isEditing.value)}
          >
            {isEditing.value ? 'Keep arguments' : 'Change arguments'}
          </button>
        )}
        <button type="button" class="main" disabled={isBusy} onClick={() => send('approve')}>
          {questions ? 'Answer' : isEditing.value ? 'Approve with changes' : 'Approve'}
        </button>
      </div>
    </form>
  )
}

/** The arguments of a call, in an editor if there is one. */
function Arguments({
  text,
  editor,
}: {
  readonly text: string
  readonly editor: RefObject<HTMLTextAreaElement | null> | undefined
}): JSX.Element {
  const value = jsonOrText(text)
  if (!editor) return <Value value={value} label="Arguments" />
  const written = JSON.stringify(value, undefined, 2)
  return <textarea ref={editor} class="code" rows={6} aria-label="Changed arguments, as JSON" defaultValue={written} />
}

/** Reads the arguments that a person wrote. Throws an error that tells what is wrong with them. */
function changesIn(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('The arguments are not JSON.')
  }
  if (isObject(value)) return value
  throw new Error('The arguments must be a JSON object.')
}

/** What a person should know of a call's effect before it happens. */
function reversible({ annotations, undo }: KnownTool): string {
  if (annotations?.readOnly) return 'It only reads.'
  if (undo) return 'Its effect can be undone.'
  return annotations?.destructive
    ? 'It is destructive: what it does may be final.'
    : 'Nothing is known of a way to undo it.'
}
