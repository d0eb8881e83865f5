/** Where the run of a response is found again. */
export interface ResponsePlace {
  readonly runId: string
  /** Undefined for a run that was not stored. */
  readonly conversation?: string | undefined
  /** The event of the run after which the response begins: a run that waited has several. */
  readonly after: number
}

/** The id of a response, which says all of that. */
export function responseId({ runId, conversation, after }: ResponsePlace): string {
  const id = `resp_${runId.replace(/^run_/, '')}_${after}`
  return conversation === undefined ? id : `${id}_${conversation}`
}

/** Undefined for an id that no edge made, or whose response was not stored. */
export function parseResponseId(id: string): (ResponsePlace & { readonly conversation: string }) | undefined {
  const [, run, after, conversation] = /^resp_([A-Za-z0-9]{22})_(\d{1,15})_([A-Za-z0-9_-]{1,64})$/.exec(id) ?? []
  return conversation === undefined ? undefined : { runId: `run_${run}`, after: Number(after), conversation }
}

/** Item ids of a call: what the edge runs is an `mcp_call`, which may have been asked for by an `mcp_approval_request`. */
export const CALL_ITEM = 'mcp_'
export const APPROVAL_ITEM = 'mcpr_'

/** Where an item is kept. */
export interface ItemPlace {
  /** The id of a call, or a run and a place in it. */
  readonly name: string
  readonly runId: string
  /** '' for an item of a run that was not stored. */
  readonly conversation: string
}

/** What the ids of a response's items end with, so that a reference to one finds its conversation. */
export function itemSuffix(conversation: string | undefined): string {
  return conversation === undefined ? '' : `_${conversation}`
}

/** Undefined for an id that no edge made. */
export function parseItemId(id: string): ItemPlace | undefined {
  const pattern = /^[a-z]+_((?:call_([A-Za-z0-9]{22})_\d+|([A-Za-z0-9]{22}))_\d+)(?:_([A-Za-z0-9_-]{1,64}))?$/
  const [, name, ofCall, ofText, conversation = ''] = pattern.exec(id) ?? []
  return name === undefined ? undefined : { name, runId: `run_${ofCall ?? ofText}`, conversation }
}

/** The call of an `mcp_call` or an `mcp_approval_request`. */
export function callOfItem(id: string): string {
  return parseItemId(id)?.name ?? id.replace(/^mcpr?_/, '')
}
