import type { Tool } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import type { StoredFace } from '../stored.ts'
import type { ServiceSource } from './service.ts'

/**
 * Calls the tool of a tool Worker that a stored definition gives another face: the same arguments, under the name and
 * hash that the Worker knows.
 */
export function callFace({ name, binding, call }: StoredFace, services: Pick<ServiceSource, 'bound'>): Tool['call'] {
  return async (request, control) => {
    const [tool] = (await services.bound(binding)?.find([call])) ?? []
    if (tool) return tool.call({ ...request, name: call, hash: tool.definition.hash }, control)
    return failure('tool_unreachable', `The tool "${name}" cannot be reached.`, `${binding} has no tool "${call}" now`)
  }
}
