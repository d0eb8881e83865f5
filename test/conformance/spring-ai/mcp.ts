import { owned, type Row } from '../rows.ts'

const SAYS: readonly string[] = [
  'a call without arguments sends an empty object',
  'an error that a server answers is told to the model',
  'an error of the protocol fails the run',
  'results in parts arrive as parts, images too',
  'tools of one name from two servers get names of their own',
  'which tools of a server count can be said by name and by server',
  'long and foreign names are made such as models take',
  'our own tools can be served, their errors as errors',
  'of the tool context only what is meant for it is sent along',
]

/** Rows 139 to 147: tools of MCP servers. */
export const mcp: readonly Row[] = SAYS.map((says, index) => ({ row: 139 + index, says, verdict: owned('MCP') }))
