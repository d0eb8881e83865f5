import type { ResponseFormat } from '../../contract/model.ts'

/** Describes the format of an answer to a model that is not forced to keep it. */
export function inWords(format: ResponseFormat): string {
  const schema = format.type === 'json_schema' ? ` It fits this JSON Schema: ${JSON.stringify(format.schema)}` : ''
  return `Answer with one JSON object and nothing else.${schema}`
}
