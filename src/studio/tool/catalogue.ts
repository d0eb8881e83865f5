import { computed, signal } from '@preact/signals'
import { ask, part } from '../api/session.ts'
import type { ToolDefinition } from '../../contract/tool.ts'

/** A tool as the edge lists it. What is not available may lack everything but its name. */
export interface ListedTool extends Partial<Omit<ToolDefinition, 'name'>> {
  readonly name: string
  readonly source: string
  readonly place: string
  readonly available: boolean
  readonly reason?: string
  /** For a tool that is held back: the hash that was accepted; null if that is not known. */
  readonly accepted?: string | null
}

const MOST = 1000

/** The tools of the edge in the order of their names, once they are loaded. */
export const listed = signal<readonly ListedTool[]>([])

/** The tools by name. */
export const tools = computed(() => new Map(listed.value.map((tool) => [tool.name, tool])))

export async function loadTools(): Promise<readonly ListedTool[]> {
  listed.value = await ask<ListedTool[]>(`/tools?limit=${MOST}`)
  return listed.value
}

/** Searches as the model does, best first. */
export async function searchTools(query: string): Promise<readonly ListedTool[]> {
  return ask<ListedTool[]>(`/tools?limit=30&query=${part(query)}`)
}

/** A tool is held back if its definition is there but may not be called before a person accepts it. */
export function isHeld({ available, hash }: ListedTool): boolean {
  return !available && hash !== undefined
}
