import { wireName } from 'edgecall/tool'
import type { McpServer } from './servers.ts'

/** Tells whether a name matches a pattern, in which `*` stands for any text. */
export function isLike(name: string, pattern: string): boolean {
  const [head = '', ...parts] = pattern.split('*')
  const tail = parts.pop()
  if (tail === undefined) return name === pattern
  let at = head.length
  for (const part of parts) {
    const index = name.indexOf(part, at)
    if (index < 0) return false
    at = index + part.length
  }
  return name.startsWith(head) && name.endsWith(tail) && name.length - tail.length >= at
}

/** Returns the name that the configuration of a server gives to one of its tools. */
export function nameHere({ rename, prefix }: McpServer, name: string): string {
  return (Object.hasOwn(rename, name) && rename[name]) || prefix + name
}

/**
 * Names the tools of several servers. Returns them by the names that models see, each with the name (`name`) of which
 * that was made. The first tool keeps its name; a later one of the same name is prefixed with its server's name. Names
 * depend only on what the servers list and on the order in which they are configured.
 */
export function nameTools<Tool extends { readonly name: string }>(
  listings: readonly (readonly [server: McpServer, tools: readonly Tool[]])[],
): ReadonlyMap<string, readonly [name: string, server: McpServer, tool: Tool]> {
  const byName = new Map<string, readonly [string, McpServer, Tool]>()
  for (const [server, tools] of listings) {
    for (const tool of tools) {
      const wanted = nameHere(server, tool.name)
      let uniqueName = wanted
      for (let alias = `${server.name}_${wanted}`; byName.has(wireName(uniqueName)); alias += '_') uniqueName = alias
      byName.set(wireName(uniqueName), [uniqueName, server, tool])
    }
  }
  return byName
}
