const INPUT = {
  type: 'object',
  properties: { base: { type: 'string', description: 'The currency to convert from, such as EUR' } },
  required: ['base'],
}

const SHARED = { description: 'What it does, and when a model should call it.', inputSchema: INPUT }

/** The templates of a new stored definition, one of each kind, by label. */
export const TEMPLATES: Readonly<Record<string, object>> = {
  'HTTP request': {
    ...SHARED,
    annotations: { readOnly: true, idempotent: true },
    http: { method: 'GET', url: 'https://api.example.com/latest?base={base}', result: '/rates' },
  },
  'Fixed answer': { ...SHARED, static: { text: 'The support desk is open from 9 to 17 o’clock.' } },
  'Alias of a bound tool': { ...SHARED, binding: 'TOOL_CLOCK', call: 'currentTime' },
  'Tool of a dispatched Worker': { worker: { script: 'acme--billing' } },
  Code: { ...SHARED, code: { module: 'export default ({ base }) => base.toLowerCase()' } },
}
