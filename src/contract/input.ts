import { isObject, type JsonObject, type JsonSchema } from './json.ts'

/** One thing that a call asks for, in the words of MCP. */
export interface InputRequest {
  /** `elicitation/create` asks a person; MCP clients may also serve `sampling/createMessage` and `roots/list`. */
  readonly method: string
  /**
   * Of an elicitation: `message`, and `requestedSchema` (a flat object schema) for a form, or `mode: "url"` with `url`
   * for a page that the person opens.
   */
  readonly params: JsonObject
}

/** What a call needs before it can finish: it is sent again, with the responses and the state. */
export interface InputNeeds {
  /** By names that the tool chooses. */
  readonly requests: Readonly<Record<string, InputRequest>>
  /** Comes back as it is. Over `/mcp` it passes through the client, who can read it and not change it. */
  readonly state?: string
}

/** What a person is asked for by one request of a call. */
export interface Question {
  /** The name that the tool chose. */
  readonly name: string
  readonly message: string
  /** The schema of the form; absent for a page. */
  readonly schema?: JsonSchema
  /** The page that the person opens. */
  readonly url?: string
}

/** Returns what a person is asked for. */
export function questionsOf({ requests }: InputNeeds): readonly Question[] {
  return Object.entries(requests).map(([name, { params }]) => {
    const { message, requestedSchema, url } = params
    return {
      name,
      message: typeof message === 'string' ? message : '',
      ...(isObject(requestedSchema) && { schema: requestedSchema }),
      ...(typeof url === 'string' && { url }),
    }
  })
}

/** Whether a value has, by the name of each question, what a person filled in. */
export function isFilledIn(value: unknown): value is Readonly<Record<string, JsonObject>> {
  return isObject(value) && Object.values(value).every(isObject)
}

/** What a call that asked for input gets. */
export interface CallInput {
  /**
   * By the names of the requests. The answer of a person is `{ action: "accept", content }`, `{ action: "decline" }` or
   * `{ action: "cancel" }`. Comes from outside: check it.
   */
  readonly responses: Readonly<Record<string, JsonObject>>
  readonly state?: string
}

/** The code of the failure of a call that needs input. */
export const INPUT_REQUIRED = 'input_required'
