/** The templates of a new stored definition, one of each kind, by what such a tool does. */
export const TEMPLATES: Readonly<Record<string, object>> = {
  'It calls an address': {
    description: 'Returns the exchange rates of a currency. Use it to convert money.',
    inputSchema: objectOf({ base: { type: 'string', description: 'The currency to convert from, such as EUR' } }),
    annotations: { readOnly: true, idempotent: true },
    http: { method: 'GET', url: 'https://api.example.com/latest?base={base}', result: '/rates' },
  },
  'It gives a fixed answer': {
    description: 'Tells when the support desk is open. Use it for questions about opening hours.',
    inputSchema: objectOf({}),
    annotations: { readOnly: true, idempotent: true },
    static: { text: 'The support desk is open from 9 to 17 o’clock.' },
  },
  'It is another name of a bound tool': {
    description: 'Tells the time of day in a city.',
    binding: 'TOOL_CLOCK',
    call: 'currentTime',
  },
  'It is in a dispatched Worker': { worker: { script: 'acme--billing' } },
  'It runs code': {
    description: 'Turns a title into the part of an address. Use it to name pages.',
    inputSchema: objectOf({ title: { type: 'string', description: 'The title of the page' } }),
    annotations: { readOnly: true, idempotent: true },
    code: { module: "export default ({ title }) => title.trim().toLowerCase().replaceAll(/\\W+/g, '-')" },
  },
}

/** The schema of arguments that are all required. */
function objectOf(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', properties, required: Object.keys(properties) }
}
