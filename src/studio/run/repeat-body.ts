import type { StepRequest } from '../../contract/conversation.ts'
import { SAMPLING_NAMES } from '../../contract/model.ts'

/**
 * Returns the body for `POST /runs` that asks the model the same once more, without sampling fields that only another format
 * has. The tools are those of the caller, so that none is called.
 */
export function repeatBody(request: StepRequest): object {
  const { run: _run, step: _step, historyLength: _history, hasShortTools: _short, ...options } = request
  const { model, messages, tools, toolChoice, responseFormat, sampling = {}, providerOptions } = options
  const fields = Object.entries(SAMPLING_NAMES).flatMap(([field, name]) => {
    const value = sampling[name]
    return value === undefined
      ? []
      : [[field, typeof value === 'string' && field === 'stop' ? [value] : value] as const]
  })
  const [first] = messages
  const system = first?.role === 'system' ? first.content : undefined
  return {
    ...{ model, execution: 'caller', system, tools: [] },
    ...{
      toolChoice,
      responseFormat,
      providerOptions,
      sampling: fields.length > 0 ? Object.fromEntries(fields) : undefined,
    },
    clientTools: tools.map(({ name, description, inputSchema, inputExamples, strict }) => {
      return { name, description, inputSchema, inputExamples, strict }
    }),
    input: system === undefined ? messages : messages.slice(1),
  }
}
