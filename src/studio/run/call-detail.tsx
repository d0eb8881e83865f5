import type { JSX } from 'preact'
import { CopyButton } from '../part/copy-button.tsx'
import { curl } from '../part/curl.ts'
import { Contents } from '../part/contents.tsx'
import { NumberedCode } from '../part/code.tsx'
import { Icon } from '../part/icon.tsx'
import { FaultNote } from '../part/problem.tsx'
import { callLook, StateBadge } from '../part/state.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { duration, jsonOrText, moment, quantity } from '../part/text.ts'
import { Value } from '../part/value.tsx'
import { hrefOf } from '../route.ts'
import { tools } from '../tool/catalogue.ts'
import { ApprovalForm } from './approval-form.tsx'
import { CallChip, DoubtNote } from './call-chip.tsx'
import { codeOf } from './chart.tsx'
import { DetailHead, type ItemProps } from './detail-head.tsx'
import { FaultDetail } from './fault-detail.tsx'
import { ResultForm } from './result-form.tsx'
import { callsOf, type CallAttempt, type CallView, hasEnded, type RunView } from './run-view.ts'

/** Everything about one call. */
export function CallDetail({ item: call, run, address, hrefTo }: ItemProps<CallView>): JSX.Element {
  const { approval, progress, undone } = call
  const step = run.steps.find(({ calls }) => calls.some(({ id }) => id === call.id))
  const isOpen = !hasEnded(run)
  const code = call.isProgram || call.tool === 'run_code' ? codeOf(call.arguments) : undefined
  return (
    <article class="detail" aria-label={`Call of ${call.tool}`}>
      <DetailHead title={visible(call.tool)} isMono back={hrefTo(undefined)}>
        <StateBadge look={callLook(call.state)} />
        <span class="faint">
          in step {step?.number}
          {call.durationMs !== undefined && ` · ${duration(call.durationMs)}`}
        </span>
      </DetailHead>
      <div class="pad stack">
        {isOpen && call.state === 'approval' && <ApprovalForm call={call} address={address} />}
        {isOpen && call.state === 'caller' && <ResultForm call={call} address={address} />}
        {approval?.decision && <Decision approval={approval} />}
        {progress && <Progress {...progress} />}
        <DoubtNote call={call} />
        {call.error && <Failure call={call} run={run} hrefTo={hrefTo} />}
        {call.error && <FaultDetail address={address} isOpen isShown={(fault) => fault.callId === call.id} />}
        {call.attempts.length > 1 && <Attempts call={call} />}
        {code !== undefined && <Program call={call} code={code} run={run} hrefTo={hrefTo} />}
        {code === undefined && call.state !== 'approval' && (
          <section>
            <h3>Arguments</h3>
            <Value value={jsonOrText(call.arguments)} label="Arguments" />
          </section>
        )}
        {call.content && (
          <section>
            <h3>
              Result
              {call.cut !== undefined && (
                <span class="faint">the first part of {call.cut.toLocaleString('en')} bytes</span>
              )}
            </h3>
            <Contents content={call.content} structured={call.structured} />
          </section>
        )}
        {undone && (
          <p class="note retry">
            <Icon name="loop" />
            <span>
              {undone.ok ? 'This call was undone.' : `It could not be undone: ${visible(undone.message ?? '')}`}
            </span>
          </p>
        )}
        {call.notes?.map((note) => (
          <p key={note} class="hint">
            {note}
          </p>
        ))}
        <CallFacts call={call} hrefTo={hrefTo} />
        <div class="bar wrap">
          {tools.value.has(call.tool) && (
            <a class="btn" href={hrefOf({ page: 'tools', tool: call.tool })}>
              <Icon name="tool" />
              Open the tool
            </a>
          )}
          <CopyButton
            text={() => curl(`/tools/${encodeURIComponent(call.tool)}/call`, { arguments: jsonOrText(call.arguments) })}
            what="as cURL"
            isButton
          />
        </div>
      </div>
    </article>
  )
}

function CallFacts({
  call,
  hrefTo,
}: {
  readonly call: CallView
  readonly hrefTo: (key: string) => string
}): JSX.Element {
  const { place, version, deployment, usage } = call
  return (
    <dl class="facts">
      {call.attempts.length === 1 && <Fact name="Started" value={clock(call.attempts[0]?.from ?? 0)} />}
      {place !== undefined && (
        <Fact
          name="Worker"
          value={[place, version && `version ${version}`, deployment && `deployment ${deployment}`]
            .filter(Boolean)
            .join(' · ')}
        />
      )}
      {usage && <Fact name="Tokens inside" value={`${usage.inputTokens} in, ${usage.outputTokens} out`} />}
      {call.parent !== undefined && (
        <>
          <dt>Made by</dt>
          <dd>
            <a class="link" href={hrefTo(call.parent)}>
              the program of this step
            </a>
          </dd>
        </>
      )}
      <Fact name="Call id" value={call.id} />
    </dl>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd class="mono">{visible(value)}</dd>
    </>
  )
}

/** Why a call failed, as the model read it, and what came next. */
function Failure({
  call,
  run,
  hrefTo,
}: {
  readonly call: CallView
  readonly run: RunView
  readonly hrefTo: (key: string) => string
}): JSX.Element {
  const { code = '', message = '' } = call.error ?? {}
  const all = callsOf(run)
  const next = all.slice(all.indexOf(call) + 1).find(({ tool }) => tool === call.tool)
  const step = next && run.steps.find(({ calls }) => calls.includes(next))
  return (
    <FaultNote code={code} message={message}>
      {next && step && (
        <>
          <br />
          {'It was called again in '}
          <a class="link" href={hrefTo(next.id)}>
            step {step.number}
          </a>
          {next.state === 'ok' ? ', which worked.' : next.state === 'failed' ? ', which failed too.' : '.'}
        </>
      )}
    </FaultNote>
  )
}

function Decision({ approval }: { readonly approval: NonNullable<CallView['approval']> }): JSX.Element {
  const { decision, by, reason, isChanged, askedAt, decidedAt } = approval
  const how = decision === 'approve' ? (isChanged ? 'Approved with changed arguments' : 'Approved') : 'Rejected'
  const waited = askedAt !== undefined && decidedAt !== undefined ? ` after ${duration(decidedAt - askedAt)}` : ''
  return (
    <p class={decision === 'approve' ? 'note wait' : 'note fail'}>
      <Icon name="approval" />
      <span>
        <b>
          {how}
          {by && ` by ${visible(by)}`}
        </b>
        {waited}
        {reason && `: ${visible(reason)}`}
      </span>
    </p>
  )
}

function Progress({ message, fraction, data }: NonNullable<CallView['progress']>): JSX.Element {
  return (
    <p class="hint">
      {fraction !== undefined && <progress value={fraction} aria-label="Progress" />}{' '}
      {visible(message ?? JSON.stringify(data) ?? '')}
    </p>
  )
}

function Attempts({ call: { attempts, state, error } }: { readonly call: CallView }): JSX.Element {
  const outcomeOf = ({ loss }: CallAttempt, isLast: boolean): string => {
    if (isLast && state === 'failed') return error?.code ?? 'failed'
    if (isLast) return callLook(state).word
    if (loss === 'timeout') return 'Not answered in time, sent again'
    return loss ? 'Lost when the edge stopped, sent again' : 'Waited, then ran again'
  }
  return (
    <section>
      <h3>Attempts</h3>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">#</th>
            <th scope="col">Started</th>
            <th scope="col" class="num">
              Time
            </th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {attempts.map((attempt, index) => {
            const isLast = index === attempts.length - 1
            const tone = isLast ? (state === 'failed' ? 'fail' : '') : 'retry'
            return (
              <tr key={attempt.number}>
                <td>{attempt.number}</td>
                <td class="num">{clock(attempt.from)}</td>
                <td class="num">{attempt.to !== undefined && duration(attempt.to - attempt.from)}</td>
                <td class={`wide ${tone}`}>{visible(outcomeOf(attempt, isLast))}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

interface ProgramProps {
  readonly call: CallView
  readonly code: string
  readonly run: RunView
  readonly hrefTo: (key: string) => string
}

/** The code of a program with its line numbers, and the calls that it made. */
export function Program({ call, code, run, hrefTo }: ProgramProps): JSX.Element {
  const inner = callsOf(run).filter(({ parent }) => parent === call.id)
  const badLine = Number(/(?:line |program\.js:)(\d+)/.exec(call.error?.message ?? '')?.[1] ?? 0) || undefined
  return (
    <section>
      <h3>
        Program <span class="faint">{quantity(inner.length, 'call')} inside</span>
      </h3>
      <NumberedCode code={code} language="js" label="Program" notes={lineNotes(code, inner)} badLine={badLine} />
      {inner.length > 0 && (
        <ul class="chips" aria-label="Calls of the program">
          {inner.map((each) => (
            <li key={each.id}>
              <CallChip call={each} href={hrefTo(each.id)} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** Beside the lines that name a tool: how often it was called, and whether that failed. */
function lineNotes(code: string, calls: readonly CallView[]): ReadonlyMap<number, string> {
  const byTool = Map.groupBy(calls, ({ tool }) => tool)
  const notes = new Map<number, string>()
  for (const [index, line] of code.split('\n').entries()) {
    for (const [tool, all] of byTool) {
      if (!new RegExp(`\\b${tool.replace(/\W/g, '.')}\\s*\\(`).test(line)) continue
      const failed = all.filter(({ state }) => state === 'failed').length
      const waits = all.some(({ state }) => state === 'approval')
      const words = [quantity(all.length, 'call'), failed > 0 && `${failed} failed`, waits && 'needs approval']
      notes.set(index + 1, words.filter(Boolean).join(', '))
    }
  }
  return notes
}

function clock(at: number): string {
  return `${moment(at)}:${new Date(at).toLocaleString('en', { second: '2-digit' }).padStart(2, '0')}`
}
