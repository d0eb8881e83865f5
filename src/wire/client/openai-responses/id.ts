/** The place of a response: its run, and where in the run it begins. */
export interface ResponsePlace {
  readonly runId: string
  /** Undefined for a run that was not stored. */
  readonly conversation?: string | undefined
  /** The number of the run's event after which the response begins: a run that waited has several responses. */
  readonly after: number
}

/** Returns the id of a response, which contains its place. */
export function responseId({ runId, conversation, after }: ResponsePlace): string {
  const id = `resp_${runId.replace(/^run_/, '')}_${after}`
  return conversation === undefined ? id : `${id}_${conversation}`
}

/** Parses the id of a response. Undefined if no edge made the id, or if the response was not stored. */
export function parseResponseId(id: string): (ResponsePlace & { readonly conversation: string }) | undefined {
  const [, run, after, conversation] = /^resp_([A-Za-z0-9]{22})_(\d{1,15})_([A-Za-z0-9_-]{1,64})$/.exec(id) ?? []
  return conversation === undefined ? undefined : { runId: `run_${run}`, after: Number(after), conversation }
}

/** The prefixes of item ids of calls that the edge runs: of an `mcp_call`, and of an `mcp_approval_request` for it. */
export const CALL_ITEM = 'mcp_'
export const APPROVAL_ITEM = 'mcpr_'

/** The place where an item is stored. */
export interface ItemPlace {
  /** The id of a call; for other items, that of the run without its prefix, and the number of an event. */
  readonly name: string
  readonly runId: string
  /** '' for an item of a run that was not stored. */
  readonly conversation: string
}

/** Returns the end of the ids of a response's items, by which a reference to an item finds its conversation. */
export function itemSuffix(conversation: string | undefined): string {
  return conversation === undefined ? '' : `_${conversation}`
}

/** Parses the id of an item. Undefined if no edge made the id. */
export function parseItemId(id: string): ItemPlace | undefined {
  const pattern = /^[a-z]+_((?:call_([A-Za-z0-9]{22})_\d+|([A-Za-z0-9]{22}))_\d+)(?:_([A-Za-z0-9_-]{1,64}))?$/
  const [, name, ofCall, ofText, conversation = ''] = pattern.exec(id) ?? []
  return name === undefined ? undefined : { name, runId: `run_${ofCall ?? ofText}`, conversation }
}

/** Returns the id of the call that an `mcp_call` or `mcp_approval_request` with this id stands for. */
export function callOfItem(id: string): string {
  return parseItemId(id)?.name ?? id.replace(/^mcpr?_/, '')
}
