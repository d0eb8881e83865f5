import type { ResponseFormat } from '../contract/model.ts'

/** The form of an answer, told to a model that is not held to it. */
export function inWords(format: ResponseFormat): string {
  const schema = format.type === 'json_schema' ? ` It fits this JSON Schema: ${JSON.stringify(format.schema)}` : ''
  return `Answer with one JSON object and nothing else.${schema}`
}
