import { InputRequired, readExactly, type RunContext } from 'edgecall/tool'
import { fieldsOf, isObject } from './json.ts'

type Fields = Readonly<Record<string, unknown>>
type Requests = ConstructorParameters<typeof InputRequired>[0]

/** What a call may ask for, and the answers that it has. */
interface Dialog {
  readonly input: RunContext['input']
  readonly asks: RunContext['asks'] | undefined
}

const ELICIT = 'elicitation/create'

/** Returns the capabilities by which a client of this Worker says what it can be asked for. */
export function capabilitiesFor(asks: readonly string[] = []): object {
  const names = asks.map((method) => method.split('/', 1)[0] ?? method)
  return Object.fromEntries(names.map((name) => [name, name === 'elicitation' ? { form: {}, url: {} } : {}]))
}

/** Returns what a call to a server of the newest revision adds once its requests are answered. */
export function answersOf(input: RunContext['input']): Fields {
  if (!input) return {}
  const { responses, state } = input
  return { inputResponses: responses, ...(state !== undefined && { requestState: state }) }
}

/** Throws what asks for the input that a result says is needed. */
export function askFor({ inputRequests, requestState }: Fields): never {
  const requests = Object.entries(fieldsOf(inputRequests)).flatMap(([key, value]) => {
    const { method, params } = fieldsOf(value)
    return typeof method === 'string' ? [[key, { method, params: fieldsOf(params) }] as const] : []
  })
  throw new InputRequired(Object.fromEntries(requests), typeof requestState === 'string' ? requestState : undefined)
}

/**
 * Answers the requests that a server of an older revision sends while a call is open, one after the other. A question
 * that nobody has answered yet cancels the call (`cancel`), since a person may take hours. With the answer the call is
 * made again, and all its questions are answered with what came back so far.
 */
export class Elicitations {
  readonly #answers: Readonly<Record<string, Fields>>
  /** Whether a person can be asked. */
  readonly arePossible: boolean
  readonly #cancel: () => void
  #count = 0
  #missing: Requests = {}

  constructor({ input, asks }: Dialog, cancel: () => void) {
    this.#cancel = cancel
    const before = fieldsOf(readExactly(input?.state ?? '{}'))
    const answers = Object.entries({ ...before, ...input?.responses }).filter(([, value]) => isObject(value))
    this.#answers = Object.fromEntries(answers.map(([key, value]) => [key, fieldsOf(value)]))
    this.arePossible = asks?.includes(ELICIT) ?? false
  }

  /** Returns the result of a request; undefined for one that cannot be answered. */
  answer(method: string, params: unknown): Fields | undefined {
    if (method !== ELICIT || !this.arePossible) return undefined
    const key = `question_${++this.#count}`
    const answer = this.#answers[key]
    if (answer) return withDefaults(answer, { params })
    this.#missing = { ...this.#missing, [key]: { method, params: fieldsOf(params) } }
    this.#cancel()
    return undefined
  }

  /** Throws what asks for the answers that are missing, if any are. */
  demand(): void {
    if (Object.keys(this.#missing).length > 0) throw new InputRequired(this.#missing, JSON.stringify(this.#answers))
  }
}

/** Fills in the defaults of the fields of a form that a person left out. */
function withDefaults(answer: Fields, { params }: Fields): Fields {
  if (answer['action'] !== 'accept') return answer
  const { requestedSchema } = fieldsOf(params)
  const defaults = Object.entries(fieldsOf(fieldsOf(requestedSchema)['properties'])).flatMap(([name, property]) => {
    const { default: value } = fieldsOf(property)
    return value === undefined ? [] : [[name, value] as const]
  })
  const content = fieldsOf(answer['content'])
  const isForm = requestedSchema !== undefined || answer['content'] !== undefined
  return isForm ? { ...answer, content: { ...Object.fromEntries(defaults), ...content } } : answer
}
