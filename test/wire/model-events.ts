import type { ModelEvent } from '../../src/contract/model.ts'
import type { ProviderCall } from '../../src/contract/provider-tool.ts'

export const text = (text: string): ModelEvent => ({ type: 'text', text })

export const reasoning = (text: string): ModelEvent => ({ type: 'reasoning', text })

/** The first part of a call, and what more comes of its arguments. */
export const first = (index: number, tool: string, args = ''): ModelEvent => ({
  type: 'call.delta',
  index,
  tool,
  arguments: args,
})
export const more = (index: number, args: string): ModelEvent => ({ type: 'call.delta', index, arguments: args })

/** A call that is whole. */
export const call = (index: number, tool: string, args: string): ModelEvent => ({
  type: 'call',
  index,
  tool,
  arguments: args,
})

/** What the provider did with a tool of its own. */
export const use = (call: ProviderCall): ModelEvent => ({ type: 'provider.call', ...call })
