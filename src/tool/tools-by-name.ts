import type { DefinedTool } from './define.ts'

/** Maps tools by name, in their order. The same tool may come twice; throws a TypeError for two tools of one name. */
export function toolsByName<Env>(tools: readonly DefinedTool<Env>[]): ReadonlyMap<string, DefinedTool<Env>> {
  const byName = new Map<string, DefinedTool<Env>>()
  for (const tool of tools) {
    const existing = byName.get(tool.name)
    if (existing && existing !== tool) throw new TypeError(`Two tools here are named "${tool.name}"`)
    byName.set(tool.name, tool)
  }
  return byName
}
