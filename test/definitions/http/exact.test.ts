import { expect, test } from 'vitest'
import { definitionService } from '../../../src/definitions/service.ts'
import { decimalValue, jsonNumbers } from '../../fixtures/json-numbers.ts'

import { isObject, parseShallow } from '../../../src/contract/json.ts'
import { CONTROL, toolRequest } from '../../host/source/calls.ts'

/** Calls an HTTP tool with arguments as JSON text; returns what its service was sent, and the outcome. */
async function call({ http = {}, properties = {}, args = '{}', answer = '{}', outputSchema = {} }) {
  const requests: { readonly url: string; readonly body?: BodyInit | null }[] = []
  const service = definitionService({
    fetch: async (url, { body }) => {
      requests.push(body === undefined ? { url } : { url, body })
      return new Response(answer, { headers: { 'content-type': 'application/json' } })
    },
  })
  const origin = 'https://rows.example'
  const definition = {
    name: 't',
    description: 'A test.',
    inputSchema: { type: 'object', properties, required: Object.keys(properties) },
    http: { method: 'GET', url: `${origin}/`, ...http },
    outputSchema,
  }
  const parsed = parseShallow(args)
  const request = toolRequest('t', isObject(parsed) ? parsed : {})
  const hosts = { [origin]: [] }
  const outcome = await service.call(definition, request, { hosts, secrets: {} }, CONTROL)
  return { requests, outcome }
}

const ID = '9007199254740993'
const INTEGER = { type: 'integer' }

const ARGS = `{"id":${ID}}`
const ONE = { id: INTEGER }
const ROWS = { items: { properties: { id: { anyOf: [INTEGER, { type: 'null' }] } } } }

test.each<[place: string, asked: Parameters<typeof call>[0], expected: object]>([
  [
    'a path',
    { http: { url: 'https://rows.example/{id}' }, properties: ONE, args: ARGS },
    { url: `https://rows.example/${ID}` },
  ],
  [
    'a query',
    { http: { query: { id: '{id}' } }, properties: ONE, args: ARGS },
    { url: `https://rows.example/?id=${ID}` },
  ],
  [
    'a list in a query',
    {
      http: { query: { id: '{id}' } },
      properties: { id: { type: 'array', items: INTEGER } },
      args: `{"id":[1,${ID}]}`,
    },
    { url: `https://rows.example/?id=1&id=${ID}` },
  ],
  [
    'a body',
    {
      http: { method: 'POST', body: { id: '{id}', price: '{price}' } },
      properties: { id: INTEGER, price: { type: 'number' } },
      args: `{"id":${ID},"price":0.1234567890123456789}`,
    },
    { body: `{"id":${ID},"price":0.1234567890123456789}` },
  ],
  [
    'a body, for a text',
    { http: { method: 'POST', body: { id: '{id}' } }, properties: { id: { type: 'string' } }, args: ARGS },
    { body: `{"id":"${ID}"}` },
  ],
  [
    'a nested value',
    {
      http: { method: 'POST', body: { rows: '{rows}' } },
      properties: { rows: ROWS },
      args: `{"rows":[{"id":${ID}},{"id":null}]}`,
    },
    { body: `{"rows":[{"id":${ID}},{"id":null}]}` },
  ],
  [
    'a form',
    {
      http: { method: 'POST', bodyType: 'form', body: { id: '{id}', row: { id: '{id}' } } },
      properties: ONE,
      args: ARGS,
    },
    { body: `id=${ID}&row%5Bid%5D=${ID}` },
  ],
])('a long number is sent as it is in %s', async (_, asked, expected) => {
  const { requests, outcome } = await call(asked)
  expect(outcome).toMatchObject({ ok: true })
  expect(requests).toEqual([expect.objectContaining(expected)])
})

test('a number out of the range of JavaScript is refused, and nothing is sent', async () => {
  const { requests, outcome } = await call({
    http: { query: { n: '{n}' } },
    properties: { n: { type: 'number' } },
    args: '{"n":1e400}',
  })
  expect(requests).toEqual([])
  expect(outcome).toEqual({
    ok: false,
    error: {
      code: 'invalid_arguments',
      message:
        'The arguments of "t" do not fit:\n- n: expected number, received 1e400, which has too many digits for this tool: it would become another number. Do not round it. Send it as text where a tool takes a string, or say that it cannot be sent.\nCorrect them and call again.',
    },
  })
})

test.each<[string, string, string, unknown]>([
  [
    'long integers',
    '{"user_id": 2512292042121000001}',
    '{"user_id":2512292042121000001}',
    { user_id: '2512292042121000001' },
  ],
  ['zeros at the end', '{"price":10.50}', '{"price":10.50}', { price: 10.5 }],
  ['negative zero', '[-0, -0.0]', '[-0,-0.0]', [-0, -0]],
  ['exponents', '[1e400,1E3]', '[1e400,1E3]', ['1e400', 1000]],
  ['texts like numbers', '["9007199254740993","1.0"]', '["9007199254740993","1.0"]', ['9007199254740993', '1.0']],
])('the text of a result keeps %s', async (_, answer, text, structured) => {
  const { outcome } = await call({ answer })
  expect(outcome).toEqual({ ok: true, content: [{ type: 'text', text }], structured })
})

test('a part of a result keeps its digits', async () => {
  const { outcome } = await call({ http: { result: '/total' }, answer: `{"total":${ID}}` })
  expect(outcome).toEqual({ ok: true, content: [{ type: 'text', text: ID }] })
})

test('a long number fits an output schema that says it is a number', async () => {
  const outputSchema = { type: 'object', properties: { id: INTEGER, name: { type: 'string' } } }
  const { outcome } = await call({ answer: `{"id":${ID},"name":"Ada"}`, outputSchema })
  expect(outcome).toMatchObject({ ok: true, structured: { id: ID, name: 'Ada' } })
  const unfit = await call({ answer: `{"id":${ID},"name":5}`, outputSchema })
  expect(unfit.outcome).toMatchObject({ ok: false, error: { code: 'invalid_output' } })
})

test('a secret that the service writes with escapes is in no text beside a long number', async () => {
  const service = definitionService({
    fetch: async () =>
      new Response(`{"id":${ID},"echo":"\\u0073ecret-value"}`, { headers: { 'content-type': 'application/json' } }),
  })
  const definition = {
    name: 't',
    description: 'A test.',
    inputSchema: { type: 'object', properties: {} },
    http: {
      method: 'GET',
      url: 'https://rows.example/',
      headers: { 'x-key': '{SECRET_KEY}' },
      secrets: ['SECRET_KEY'],
    },
  }
  const grants = { hosts: { 'https://rows.example': ['SECRET_KEY'] }, secrets: { SECRET_KEY: 'secret-value' } }
  const outcome = await service.call(definition, toolRequest('t', {}), grants, CONTROL)
  expect(outcome).toMatchObject({ ok: true, structured: { id: ID } })
  expect(JSON.stringify(outcome)).not.toContain('secret-value')
})

test('a stored definition may have the limits of int64 in its schema, and loses them', async () => {
  const text =
    '{"name":"t","description":"A test.","inputSchema":{"type":"object","properties":{"id":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}}},"static":{"text":"x"}}'
  for (const definition of [parseShallow(text), JSON.parse(text)]) {
    expect(await definitionService().write('t', definition, {})).toMatchObject({
      ok: true,
      read: { definition: { inputSchema: { properties: { id: { type: 'integer' } } } } },
    })
  }
})

test('of 10,000 numbers in an answer, the text keeps each as it came, and none is changed in the structured result', async () => {
  const numbers = jsonNumbers(10_000)
  const { outcome } = await call({ answer: `{ "list": [${numbers.join(', ')}] }` })
  expect(outcome).toMatchObject({ content: [{ type: 'text', text: `{"list":[${numbers.join(',')}]}` }] })
  const structured = outcome && 'structured' in outcome ? outcome.structured : undefined
  const values = Object.values(Object(structured)).flat().map(String)
  expect(numbers.filter((number, index) => decimalValue(values[index] ?? '') !== decimalValue(number))).toEqual([])
})

test('of 10,000 numbers in arguments, each is sent with its value, or the call is refused', async () => {
  const numbers = jsonNumbers(10_000)
  const http = { method: 'POST', body: { list: '{list}' } }
  const properties = { list: { type: 'array', items: { type: 'number' } } }
  const isSent: boolean[] = []
  for (let start = 0; start < numbers.length; start += 100) {
    const part = numbers.slice(start, start + 100).filter((number) => Number.isFinite(Number(number)))
    const { requests } = await call({ http, properties, args: `{"list":[${part.join(',')}]}` })
    const body = requests[0]?.body
    const bodyNumbers = /\[(.*)\]/.exec(typeof body === 'string' ? body : '')?.[1]?.split(',') ?? []
    isSent.push(...part.map((number, index) => decimalValue(bodyNumbers[index] ?? '') === decimalValue(number)))
  }
  expect(isSent.filter((each) => !each)).toEqual([])
  expect(isSent.length).toBeGreaterThan(9000)
})
