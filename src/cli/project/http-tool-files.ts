import type { Files } from './files.ts'
import type { Names } from './names.ts'

/** The files of a stored tool that sends an HTTP request, and its test. */
export function httpToolFiles({ kebab, camel }: Names): Files {
  const definition = {
    name: camel,
    description:
      'Tells the reference exchange rate between two currencies. Use it to convert money. Answers how much one unit of the base currency is worth in the other one.',
    inputSchema: {
      type: 'object',
      properties: {
        base: { type: 'string', description: 'Currency to convert from, as its ISO 4217 code, such as USD' },
        quote: { type: 'string', description: 'Currency to convert to, as its ISO 4217 code, such as EUR' },
      },
      required: ['base', 'quote'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, openWorld: true },
    timeoutMs: 10_000,
    http: {
      method: 'GET',
      url: 'https://api.frankfurter.dev/v1/latest',
      query: { base: '{base}', symbols: '{quote}' },
      result: '/rates',
    },
  }
  return {
    [`tools/definitions/${kebab}.json`]: `${JSON.stringify(definition, null, 2)}\n`,
    [`tools/definitions/${kebab}.test.ts`]: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionIssues } from 'edgecall/test'

test('${camel} is a definition that an edge accepts', () => {
  assert.deepEqual(definitionIssues(\`\${import.meta.dirname}/${kebab}.json\`), [])
})
`,
  }
}
