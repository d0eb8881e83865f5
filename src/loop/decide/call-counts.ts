import type { ToolCall } from '../../contract/message.ts'
import { EMPTY_ANSWER } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'

/** How many calls of a run were asked for before a call. `equal`: with its tool, by whatever name, and its arguments. */
export interface EarlierCalls {
  readonly all: number
  readonly ofTool: number
  /** Those that reach the same tool, by its own name or an alias. */
  readonly ofTarget: number
  readonly equal: number
}

/**
 * The calls of a run, counted as they are added: a limit is checked in constant time, however many calls one answer
 * asks for. `equal` has the counts by target, then by arguments.
 */
export interface CallCounts {
  all: number
  readonly ofTool: Map<string, number>
  readonly ofTarget: Map<string, number>
  readonly equal: Map<string, Map<string, number>>
}

type CountedCall = Pick<ToolCall, 'tool' | 'arguments'>
type Offered = Readonly<Record<'offered', ReadonlyMap<string, ToolDefinition>>>

export function newCallCounts(): CallCounts {
  return { all: 0, ofTool: new Map(), ofTarget: new Map(), equal: new Map() }
}

/** Returns the name of the tool that a call reaches: the tool behind an alias, else the tool itself. */
export function targetOf({ offered }: Offered, tool: string): string {
  return offered.get(tool)?.aliasOf ?? tool
}

/** Whether two calls are of the same tool, by whatever name, with the same arguments. */
export function isSameCall(state: Offered, one: CountedCall, other: CountedCall): boolean {
  return targetOf(state, one.tool) === targetOf(state, other.tool) && one.arguments === other.arguments
}

/** Returns how many calls were added before this one, which is not added. `others`: calls that count too. */
export function countEarlier(
  state: Offered & { readonly callCounts: CallCounts },
  call: CountedCall,
  others: readonly CountedCall[] = [],
): EarlierCalls {
  const { all, ofTool, ofTarget, equal } = state.callCounts
  const target = targetOf(state, call.tool)
  const among = (isCounted: (other: CountedCall) => boolean) => others.filter(isCounted).length
  return {
    all: all + others.length,
    ofTool: (ofTool.get(call.tool) ?? 0) + among(({ tool }) => tool === call.tool),
    ofTarget: (ofTarget.get(target) ?? 0) + among(({ tool }) => targetOf(state, tool) === target),
    equal: (equal.get(target)?.get(call.arguments) ?? 0) + among((other) => isSameCall(state, other, call)),
  }
}

/** Adds a call. Returns how many were added before it. */
export function countCall(state: Offered & { readonly callCounts: CallCounts }, call: CountedCall): EarlierCalls {
  const earlier = countEarlier(state, call)
  const { callCounts } = state
  const target = targetOf(state, call.tool)
  callCounts.all += 1
  callCounts.ofTool.set(call.tool, earlier.ofTool + 1)
  callCounts.ofTarget.set(target, earlier.ofTarget + 1)
  addEqual(callCounts, target, call.arguments, 1)
  return earlier
}

/** Counts a call by the arguments that a person has put in the place of its own. */
export function recountCall(
  state: Offered & { readonly callCounts: CallCounts },
  call: CountedCall,
  changedArguments: string,
): void {
  const target = targetOf(state, call.tool)
  addEqual(state.callCounts, target, call.arguments, -1)
  addEqual(state.callCounts, target, changedArguments, 1)
}

function addEqual({ equal }: CallCounts, target: string, text: string, count: number): void {
  const counts = equal.get(target) ?? new Map<string, number>()
  counts.set(text, (counts.get(text) ?? 0) + count)
  equal.set(target, counts)
}

/** Counts a restart of a step that its model has caused. */
export function countRestart(step: { cuts: number; empties?: number }, because = ''): void {
  if (because.startsWith('model_')) step.cuts += 1
  if (because === EMPTY_ANSWER) step.empties = (step.empties ?? 0) + 1
}
