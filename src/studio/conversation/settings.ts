import { computed, signal } from '@preact/signals'
import { fetchJson } from '../api/session.ts'

/** What the next question is asked with; empty fields are left to the edge. */
export const model = signal('')
export const system = signal('')
export const contextText = signal('')
/** The tools to offer instead of the default set. */
export const chosenTools = signal<readonly string[] | undefined>(undefined)

/** A question that stands in the composer and is not sent. It outlives a change of the view. */
export const draft = signal('')

/** The models that the edge lets a request name. */
export const models = signal<readonly string[]>([])

export async function loadModels(): Promise<void> {
  const { data } = await fetchJson<{ readonly data: readonly { readonly id: string }[] }>('/v1/models')
  models.value = data.map(({ id }) => id)
}

/** Why the tool context cannot be sent; empty if it can. */
export const contextFault = computed(() => {
  try {
    const value: unknown = JSON.parse(contextText.value.trim() || '{}')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? '' : 'The context is a JSON object.'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
})

/** The options of a run, as its request has them. */
export function runOptions(): object {
  const context: unknown = JSON.parse(contextText.value.trim() || 'null')
  return {
    ...(model.value !== '' && { model: model.value }),
    ...(system.value.trim() !== '' && { system: system.value }),
    ...(context !== null && { context }),
    ...(chosenTools.value && { tools: chosenTools.value }),
  }
}
