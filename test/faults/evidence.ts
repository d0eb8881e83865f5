import type { CallSettled, RunEvent } from '../../src/contract/event.ts'
import { callId } from '../../src/contract/id.ts'
import { type Message, contentText } from '../../src/contract/message.ts'
import type { RunRecord } from '../../src/contract/run.ts'
import type { Frame } from './client.ts'
import type { Delivery } from './recorder.ts'
import { type Script, type ToolName, whatOf } from './script.ts'

/** What is left of a run that has ended, and of what it did. */
export interface Evidence {
  readonly script: Script
  readonly conversation: string
  readonly run: string
  readonly record: RunRecord
  /** Its stream from the start, read when all was over. */
  readonly replay: readonly Frame[]
  /** Its messages in the conversation. */
  readonly messages: readonly Message[]
  /** The effects of all runs, in order. */
  readonly effects: readonly Delivery[]
  /** What a reader saw while it ran, who came again after each crash. */
  readonly frames?: readonly Frame[]
}

/** A call that the model of a script asks for. */
export interface AskedCall {
  readonly id: string
  readonly tool: ToolName
  /** The step that asks for it. */
  readonly round: number
  readonly what: string
}

/** What a call came to: how often it was sent, and whether the model was told its effect, that it was done, or neither. */
export interface CallEnd {
  readonly tool: ToolName
  readonly deliveryCount: number
  readonly outcome: 'effect' | 'done' | 'unknown'
}

/** What became of each call that the script asks for, in order. */
export function callEnds({ script, run, replay, effects }: Evidence): CallEnd[] {
  return callsOf(script, run).map(({ id, tool }) => ({
    tool,
    deliveryCount: effects.filter((effect) => effect.callId === id).length,
    outcome: toldOf(settledOf(replay, id)),
  }))
}

function toldOf(settled: CallSettled | undefined): CallEnd['outcome'] {
  if (!settled?.ok) return 'unknown'
  return isOnlyDone(settled) ? 'done' : 'effect'
}

/** The model was told that the call took effect, and not what it answered. */
export function isOnlyDone({ content = [] }: CallSettled): boolean {
  return contentText(content).startsWith('The call took effect')
}

export function callsOf({ token, rounds }: Script, run: string): AskedCall[] {
  return rounds.flatMap((tools, before) => {
    const round = before + 1
    return tools.map((tool, index) => ({
      id: callId(run, round, index),
      tool,
      round,
      what: whatOf(token, round, index),
    }))
  })
}

export function eventsOf(replay: readonly Frame[], id: string): RunEvent[] {
  return replay.flatMap(({ event }) => ('callId' in event && event.callId === id ? [event] : []))
}

export function settledOf(replay: readonly Frame[], id: string): CallSettled | undefined {
  return eventsOf(replay, id).find((event) => event.type === 'call.settled')
}

export function answersOf(replay: readonly Frame[]): Extract<RunEvent, { type: 'step.answered' }>[] {
  return replay.flatMap(({ event }) => (event.type === 'step.answered' ? [event] : []))
}

/** The last event of a run but for outcomes that came too late, which may follow its end. */
export function lastOf(replay: readonly Frame[]): RunEvent | undefined {
  return replay.findLast(({ event }) => event.type !== 'call.late')?.event
}
