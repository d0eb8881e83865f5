/** The five tools that subjects have unless a workload says otherwise. */
export const FEW = [
  definition('squareRoot', 'The square root of a number.', { number: { type: 'number' } }),
  definition('wait', 'Waits.', { ms: { type: 'number', description: 'Milliseconds' } }),
  definition('note', 'Keeps a note.', { text: { type: 'string', description: 'The text of the note' } }),
  definition('weather', 'The weather of a place.', { place: { type: 'string' } }),
  definition('time', 'The time in a time zone.', { zone: { type: 'string', description: 'Such as Europe/Paris' } }),
]

export interface Definition {
  readonly name: string
  readonly description: string
  readonly inputSchema: {
    readonly type: 'object'
    readonly properties: Readonly<Record<string, object>>
    readonly required: readonly string[]
  }
}

function definition(name: string, description: string, properties: Readonly<Record<string, object>>): Definition {
  return { name, description, inputSchema: { type: 'object', properties, required: Object.keys(properties) } }
}

/** Performs a call of one of these tools. */
export async function perform(name: string, args: Readonly<Record<string, unknown>>): Promise<object> {
  if (name === 'squareRoot') return { root: Math.sqrt(Number(args['number'])) }
  if (name === 'wait') {
    await new Promise((resolve) => setTimeout(resolve, Number(args['ms'])))
    return { waited: args['ms'] }
  }
  if (name === 'note') return { characters: String(args['text']).length }
  return { done: true }
}
