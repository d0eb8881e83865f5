/** The door for programs that drive the loop themselves: ask a model, run the calls it asks for, ask again. */
export { memory, type Memory } from './loop/memory.ts'
export type { Hook, HookContext, LoopSetup, StepAnswer } from './contract/hook.ts'
export { collect, CollectError, executeToolCalls, type ManualOptions, type ManualResult } from './loop/manual.ts'
