/** A part of the tool contract that a Worker does not keep. */
export interface Fault {
  /** The tool that it is about; absent for the Worker as a whole. */
  readonly tool?: string
  /** Which part of the contract. */
  readonly check: ContractPart
  /** What happened, and what should have. */
  readonly message: string
}

/**
 * The parts of the tool contract. `describe`, `schema`: the definitions. `hash`, `bad-input`, `unknown-tool`: what is
 * refused. Of calls that succeed: `outcome` and `output`, their results; `size`, of results and arguments; `timeout`
 * and `cancel`, calls whose outcome is not wanted any more; `idempotency`, calls that are sent twice; `status` and
 * `undo`; `crash`, the loss of the Worker during a call.
 */
export type ContractPart =
  | ('describe' | 'schema' | 'hash' | 'bad-input' | 'unknown-tool')
  | ('outcome' | 'output' | 'size' | 'timeout' | 'cancel' | 'idempotency' | 'status' | 'undo' | 'crash')
