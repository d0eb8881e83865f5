import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { Question } from '../../contract/input.ts'
import { canonicalJson, isObject, type JsonSchema } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { Icon } from '../part/icon.tsx'
import { ErrorNote } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { argumentHint, jsonOrText, moment } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import type { RunAddress } from '../route.ts'
import { tools } from '../tool/catalogue.ts'
import { Field } from '../tool/schema-field.tsx'
import { AnswerFields, emptyAnswers } from './answer-fields.tsx'
import { ownDecisions, isInert, type MadeDecision, sendDecisions } from './decide.ts'
import { DoubtNote } from './call-chip.tsx'
import { watchRun } from './run-store.ts'
import { callsOf } from './run-view.ts'

/** A call that waits for a decision. */
export interface CallToApprove {
  readonly id: string
  readonly tool: string
  /** As JSON text. */
  readonly arguments: string
  readonly approval?: { readonly because?: string; readonly questions?: readonly Question[] } | undefined
}

type KnownTool = Partial<
  Pick<ToolDefinition, 'title' | 'description' | 'annotations' | 'undo' | 'inputSchema' | 'approval'>
>

interface FormProps {
  readonly call: CallToApprove
  /** What is known of the tool. Default: what the list of tools says. */
  readonly definition?: KnownTool | undefined
  readonly address: RunAddress
  /** What stands beside the title. */
  readonly aside?: ComponentChildren
  /** What stands between the warning and the arguments. */
  readonly children?: ComponentChildren
}

/** Asks a person to decide on a call, and shows what the decision is about. Once decided, it stays and says so. */
export function ApprovalForm({ call, definition, address, aside, children }: FormProps): JSX.Element {
  const decision = ownDecisions.value.get(call.id)
  const box = useRef<HTMLDivElement>(null)
  const title = useRef<HTMLHeadingElement>(null)
  const height = useRef(0)
  const tool = definition ?? tools.value.get(call.tool) ?? {}
  // Who has decided is told so where the focus was, and nothing moves up into the place of the buttons.
  useLayoutEffect(() => {
    if (decision && height.current > 0) title.current?.focus()
  }, [decision !== undefined])
  return (
    <div
      ref={box}
      class="decision panel"
      role="group"
      aria-label={`Decision about ${call.tool}`}
      style={decision && height.current > 0 ? { minHeight: `${height.current}px` } : undefined}
    >
      <header>
        <h2 ref={title} tabIndex={-1}>
          {decision ? decidedText(decision) : `${callTitle(call, tool)}?`}
        </h2>
        <span class="grow" />
        {aside}
      </header>
      {decision ? (
        <Decided call={call} tool={tool} decision={decision} address={address} />
      ) : (
        <OpenForm
          call={call}
          tool={tool}
          address={address}
          onSend={() => (height.current = box.current?.offsetHeight ?? 0)}
        >
          {children}
        </OpenForm>
      )}
    </div>
  )
}

/** What a call will do, in a few words: the tool as people call it, and its plain arguments. */
export function callTitle(
  { tool, arguments: text }: Pick<CallToApprove, 'tool' | 'arguments'>,
  { title }: KnownTool,
): string {
  const words =
    title ??
    tool.replaceAll(/([a-z])([A-Z])|[_-]+/g, (_, a?: string, b?: string) => (a ? `${a} ${b?.toLowerCase()}` : ' '))
  const hint = argumentHint(text)
  const name = visible(words.charAt(0).toUpperCase() + words.slice(1))
  return hint === '' ? name : `${name}: ${hint}`
}

/** What was decided, in a line. */
export function decidedText({ decision, isChanged, at }: MadeDecision): string {
  const word = decision === 'reject' ? 'Rejected' : isChanged ? 'Approved with changes' : 'Approved'
  return `${word}, ${moment(at)}`
}

interface DecidedProps {
  readonly call: CallToApprove
  readonly tool: KnownTool
  readonly decision: MadeDecision
  readonly address: RunAddress
}

function Decided({ call, tool, decision: { decision, reason }, address }: DecidedProps): JSX.Element {
  const store = useMemo(() => watchRun(address), [address.conversation, address.run])
  return (
    <div class="pad stack2">
      <p class="note" role="status">
        <Icon name={decision === 'approve' ? 'ok' : 'cross'} />
        <span>
          <b>{callTitle(call, tool)}</b> was{' '}
          {decision === 'approve' ? 'approved; the run continues.' : 'rejected; the model is told so.'}
          {reason !== '' && ` “${visible(reason)}”`}
        </span>
      </p>
      <DoubtNote call={callsOf(store.view.value).find(({ id }) => id === call.id)} />
    </div>
  )
}

interface OpenFormProps {
  readonly call: CallToApprove
  readonly tool: KnownTool
  readonly address: RunAddress
  readonly onSend: () => void
  readonly children?: ComponentChildren
}

/** What a person is about to decide on a call. */
function useDraftDecision({ call, address, onSend }: Pick<OpenFormProps, 'call' | 'address' | 'onSend'>) {
  const reason = useSignal('')
  const isBusy = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const questions = call.approval?.questions
  const answers = useSignal(emptyAnswers(questions ?? []))
  const original = jsonOrText(call.arguments)
  const value = useSignal<unknown>(original)
  const isChanged = canonicalJson(value.value) !== canonicalJson(original)
  const isOff = isBusy.value || isInert.value
  const send = async (decision: 'approve' | 'reject') => {
    if (isOff) return
    isBusy.value = true
    error.value = undefined
    onSend()
    try {
      const changes = decision === 'approve' && isChanged ? objectOf(value.value) : undefined
      const input = decision === 'approve' && questions ? answers.value : undefined
      const values = { reason: reason.value.trim(), arguments: call.arguments, changes, input }
      await sendDecisions([[address, { call: call.id, decision, ...values }]])
      watchRun(address)
    } catch (problem) {
      error.value = problem
    }
    isBusy.value = false
  }
  return { reason, error, questions, answers, original, value, isChanged, isOff, send }
}

function OpenForm({ call, tool, address, onSend, children }: OpenFormProps): JSX.Element {
  const id = useId()
  const draft = useDraftDecision({ call, address, onSend })
  const { reason, error, questions, answers, original, value, isChanged, isOff, send } = draft
  return (
    <form
      aria-label={`Approve ${call.tool}?`}
      // Enter in the note decides nothing: it may belong to either decision.
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="pad stack">
        {!questions && <Effect tool={tool} />}
        {call.approval?.because === 'untrusted_data' && (
          <p class="note fail">
            <Icon name="warning" />
            <span>
              <b>Could carry data out.</b> The run has read texts of third parties as well as private data.
            </span>
          </p>
        )}
        {children}
        {questions && (
          <AnswerFields
            questions={questions}
            answers={answers.value}
            onChange={(changed) => (answers.value = changed)}
          />
        )}
        <Arguments
          value={value.value}
          original={original}
          schema={questions ? undefined : tool.inputSchema}
          mayChange={!questions}
          onChange={(next) => (value.value = next)}
        />
        {tool.description && (
          <details>
            <summary>What the model is told about this tool</summary>
            <p class="text dim">{visible(tool.description)}</p>
          </details>
        )}
        <div class="field">
          <label for={`${id}-note`}>
            Note to the model <span class="faint">(optional)</span>
          </label>
          <input
            id={`${id}-note`}
            class="in"
            value={reason.value}
            onInput={(event) => (reason.value = event.currentTarget.value)}
          />
        </div>
        {error.value !== undefined && <ErrorNote error={error.value} />}
      </div>
      <div class="act">
        <span class="act-say faint grow">{isChanged ? 'The call gets the arguments as you changed them.' : ''}</span>
        <button type="button" class="btn danger" aria-disabled={isOff} onClick={() => send('reject')}>
          Reject
        </button>
        <button type="button" class="btn solid" aria-disabled={isOff} onClick={() => send('approve')}>
          {questions ? 'Answer' : isChanged ? 'Approve with changes' : 'Approve'}
        </button>
      </div>
    </form>
  )
}

function objectOf(value: unknown): Record<string, unknown> {
  if (isObject(value)) return { ...value }
  throw new Error('The arguments must be a JSON object.')
}

/** What a person should know of a call's effect before it happens. */
function Effect({ tool: { annotations, undo } }: { readonly tool: KnownTool }): JSX.Element {
  const isFinal = annotations?.destructive === true && !undo && !annotations.readOnly
  const [title, text] = annotations?.readOnly
    ? ['Only reads.', 'It changes nothing.']
    : undo
      ? ['Can be undone.', 'The tool can take its effect back.']
      : isFinal
        ? ['Cannot be undone.', 'What the call does is final.']
        : ['May not be undoable.', 'The tool does not say how to take its effect back.']
  return (
    <p class={isFinal ? 'note wait' : 'note'}>
      <Icon name={isFinal ? 'warning' : 'approval'} />
      <span>
        <b>{title}</b> {text}
      </span>
    </p>
  )
}

interface ArgumentsProps {
  readonly value: unknown
  /** As the model wrote them. */
  readonly original: unknown
  readonly schema: JsonSchema | undefined
  readonly mayChange: boolean
  readonly onChange: (value: unknown) => void
}

/**
 * The arguments of a call. They are read first, since fields do not show characters that hide or turn text around; then a
 * person may change them in a form, or as JSON.
 */
function Arguments({ value, original, schema, mayChange, onChange }: ArgumentsProps): JSX.Element {
  const view = useSignal<'read' | 'form' | 'json'>('read')
  const text = useSignal('')
  const fault = useSignal('')
  const isChanged = canonicalJson(value) !== canonicalJson(original)
  const show = (next: 'read' | 'form' | 'json') => {
    if (next === 'json') text.value = JSON.stringify(value, undefined, 2)
    fault.value = ''
    view.value = next
  }
  const read = (written: string) => {
    text.value = written
    try {
      const next: unknown = JSON.parse(written)
      fault.value = isObject(next) ? '' : 'The arguments must be a JSON object.'
      if (isObject(next)) onChange(next)
    } catch {
      fault.value = 'The arguments are not JSON. The last ones that were are used.'
    }
  }
  const tab = (name: 'read' | 'form' | 'json', label: string) => (
    <button type="button" aria-pressed={view.value === name} onClick={() => show(name)}>
      {label}
    </button>
  )
  return (
    <section class="panel">
      <header>
        <h3>Arguments</h3>
        {isChanged && <span class="badge wait">Changed</span>}
        <span class="grow" />
        {isChanged && (
          <button type="button" class="btn quiet" onClick={() => [onChange(original), show('read')]}>
            Put back
          </button>
        )}
        {mayChange && (
          <div class="seg" role="group" aria-label="View of the arguments">
            {tab('read', 'Read')}
            {schema && isObject(value) && tab('form', 'Form')}
            {tab('json', 'JSON')}
          </div>
        )}
      </header>
      <div class="pad stack2">
        {view.value === 'read' && <Value value={value} label="Arguments" />}
        {view.value === 'form' && schema && (
          <Field schema={schema} root={schema} name="" value={value} isRequired onChange={onChange} />
        )}
        {view.value === 'json' && (
          <>
            <textarea
              class="in code"
              rows={8}
              aria-label="Arguments as JSON"
              aria-invalid={fault.value !== ''}
              spellcheck={false}
              value={text.value}
              onInput={(event) => read(event.currentTarget.value)}
            />
            <p class="hint fail" aria-live="polite">
              {fault.value}
            </p>
          </>
        )}
      </div>
    </section>
  )
}
