import type { JsonObject } from '../contract/json.ts'
import type { DataMark, Message } from '../contract/message.ts'
import type { ChatModel, ModelEvent, ModelRequest } from '../contract/model.ts'
import type { ProviderForms, ProviderFormat } from '../contract/provider-tool.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'

export interface ProviderToolsOptions {
  /** The forms of each tool, by its name. */
  readonly forms: ReadonlyMap<string, ProviderForms>
  /** Called with a tool that a model was not told of, since it has no form in the model's format, if that has any. */
  readonly onLeftOut: (tool: string, model: string, format: ProviderFormat | undefined) => void
}

/**
 * Makes a model that is told of the tools that its provider runs in the form of its format, beside the tools that it
 * calls. What it does with them is told by the names of the run's tools, with their marks.
 */
export function withProviderTools(model: ChatModel, options: ProviderToolsOptions): ChatModel {
  return {
    ...model,
    stream: (request, signal, onRetry) => {
      const ofProvider = request.tools.filter(({ atProvider }) => atProvider)
      if (ofProvider.length === 0) return model.stream(request, signal, onRetry)
      const offer = new ToldTools(model.name, ofProvider, request, options)
      return offer.named(model.stream(offer.request, signal, onRetry))
    },
  }
}

/** The tools of providers in one request, as the model that is asked last was told of them. */
class ToldTools {
  readonly request: ModelRequest
  #offer: readonly { readonly tool: ToolDefinition; readonly form: JsonObject }[] = []

  constructor(
    model: string,
    tools: readonly ToolDefinition[],
    request: ModelRequest,
    { forms, onLeftOut }: ProviderToolsOptions,
  ) {
    const names = new Set(tools.map(({ name }) => name))
    const { toolChoice, ...rest } = request
    const chosen = typeof toolChoice === 'object' && names.has(toolChoice.tool) ? toolChoice.tool : undefined
    this.request = {
      ...rest,
      tools: request.tools.filter(({ atProvider }) => !atProvider),
      ...(toolChoice !== undefined && chosen === undefined && { toolChoice }),
      messages: request.messages.map((message) => withoutFound(message, names)),
      providerTools: (format) => {
        this.#offer = tools.flatMap((tool) => {
          const form = format && forms.get(tool.name)?.[format]
          if (!form) onLeftOut(tool.name, model, format)
          return form ? [{ tool, form }] : []
        })
        return {
          forms: this.#offer.map(({ form }) => form),
          choice: this.#offer.find(({ tool }) => tool.name === chosen)?.form,
        }
      },
    }
  }

  /** Names the tools in events as the run does, with the marks of what they find. */
  async *named(events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent, void> {
    for await (const event of events) {
      if (event.type !== 'provider.call') {
        yield event
        continue
      }
      const tool = this.#toolOf(event)
      yield tool ? { ...event, tool: tool.name, marks: marksFound(tool) } : event
    }
  }

  /** Returns the tool whose form is of a provider's kind, such as `web_search`: by its type or, at Gemini, its member. */
  #toolOf({ tool: kind, input }: { readonly tool: string; readonly input: JsonObject }): ToolDefinition | undefined {
    const kindText = plain(kind)
    const ofKind = this.#offer.filter(({ form }) =>
      [form['type'], form['name'], ...Object.keys(form)].some((text) => plain(String(text)).startsWith(kindText)),
    )
    const ofServer = ofKind.find(
      ({ form }) => form['server_label'] !== undefined && form['server_label'] === input['server'],
    )
    return (ofServer ?? ofKind[0])?.tool
  }
}

function marksFound({ annotations: { untrusted = true, private: isPrivate } }: ToolDefinition): readonly DataMark[] {
  return [...(untrusted ? (['untrusted'] as const) : []), ...(isPrivate ? (['private'] as const) : [])]
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, '')
}

const trimmedMessages = new WeakMap<Message, Message>()

/** Leaves out of the result of a search the tools that no definition in the request explains. */
function withoutFound(message: Message, names: ReadonlySet<string>): Message {
  if (message.role !== 'tool' || !message.found?.some((name) => names.has(name))) return message
  const otherNames = message.found.filter((name) => !names.has(name))
  const cached = trimmedMessages.get(message)
  if (cached?.role === 'tool' && cached.found?.length === otherNames.length) return cached
  const trimmed = { ...message, found: otherNames }
  trimmedMessages.set(message, trimmed)
  return trimmed
}
