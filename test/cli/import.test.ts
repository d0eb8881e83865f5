import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readDefinitions } from '../../src/cli/definitions.ts'
import { readSecretHeader } from '../../src/cli/secret-header.ts'
import { readOpenApi } from '../../src/cli/openapi.ts'
import { limitOf, type OperationFilter } from '../../src/cli/openapi-filter.ts'
import { bundleOpenApi } from '../../src/cli/import.ts'
import { definitionsWorker } from '../fixtures/definitions.ts'
import { CONTROL, toolRequest } from '../host/source/calls.ts'
import { start } from './command.ts'

const string = { type: 'string' }
const pet = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64', readOnly: true },
    name: { ...string, example: 'Rex' },
    'born on': { ...string, format: 'date', nullable: true },
    parent: { $ref: '#/components/schemas/Pet' },
  },
  required: ['id', 'name'],
}

/** A document with these paths. */
function api(paths: object, rest: object = {}): Record<string, unknown> {
  const components = {
    schemas: {
      Pet: pet,
      Name: { ...string, maxLength: 9 },
      Either: { oneOf: [{ $ref: '#/components/schemas/Name' }, { type: 'integer' }] },
    },
    parameters: {
      Page: { name: 'page', in: 'query', schema: { type: 'integer', minimum: 0, exclusiveMinimum: true } },
    },
    requestBodies: {
      Pet: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
    },
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      token: { type: 'http', scheme: 'bearer' },
      query: { type: 'apiKey', in: 'query', name: 'key' },
    },
  }
  return { openapi: '3.0.3', info: {}, servers: [{ url: 'https://pets.example.com/v1/' }], paths, components, ...rest }
}

/** What one operation becomes. */
function one(
  method: string,
  path: string,
  fields: object,
  { host, secret, ...rest }: { host?: string | undefined; secret?: string; [member: string]: unknown } = {},
): Record<string, any> {
  const { tools, skipped } = readOpenApi(api({ [path]: { [method]: fields } }, rest), { host, secret })
  expect(skipped).toEqual([])
  return tools[0]?.definition as Record<string, any>
}

const reason = (method: string, path: string, fields: object, options = {}) =>
  readOpenApi(api({ [path]: { [method]: fields } }), options).skipped.map((each) => each.reason)

describe('an operation', () => {
  test('has no limit that JavaScript cannot hold, as it would be another one', () => {
    const schema = { type: 'integer', minimum: '-9223372036854775808', maximum: '9223372036854775807' }
    const count = { type: 'integer', minimum: 1, maximum: 100 }
    const parameters = [
      { name: 'after', in: 'query', schema },
      { name: 'count', in: 'query', schema: count },
    ]
    expect(one('get', '/rows', { parameters }).inputSchema.properties).toEqual({ after: { type: 'integer' }, count })
  })

  test('becomes a definition whose parameters are sent in their places', () => {
    const fields = {
      operationId: 'findPets',
      summary: 'Finds pets.',
      description: 'By tag.',
      tags: ['pets'],
      parameters: [
        { name: 'owner', in: 'path', required: true, schema: { $ref: '#/components/schemas/Name' } },
        { name: 'tag', in: 'query', description: 'Any of these.', schema: { type: 'array', items: string } },
        { name: 'X-Trace', in: 'header', schema: string },
        { name: 'Accept', in: 'header', required: true, schema: string },
        { name: 'session', in: 'cookie', schema: string },
        { $ref: '#/components/parameters/Page' },
      ],
    }
    expect(one('get', '/owners/{owner}/pets', fields)).toEqual({
      name: 'findPets',
      title: 'Finds pets.',
      description: 'Finds pets. By tag.',
      tags: ['pets'],
      annotations: { readOnly: true, idempotent: true, openWorld: true },
      inputSchema: {
        type: 'object',
        properties: {
          owner: { type: 'string', maxLength: 9 },
          tag: { type: 'array', items: string, description: 'Any of these.' },
          'X-Trace': string,
          page: { type: 'integer', exclusiveMinimum: 0 },
        },
        required: ['owner'],
        additionalProperties: false,
      },
      http: {
        method: 'GET',
        url: 'https://pets.example.com/v1/owners/{owner}/pets',
        headers: { 'X-Trace': '{X-Trace}' },
        query: { tag: '{tag}', page: '{page}' },
      },
    })
  })

  test('takes the properties of its body as arguments, without read-only ones', () => {
    const { inputSchema, http, annotations } = one('post', '/pets', {
      requestBody: { $ref: '#/components/requestBodies/Pet' },
    })
    const Pet = { type: 'object', properties: { name: string }, required: ['name'] }
    expect(inputSchema).toEqual({
      type: 'object',
      properties: {
        name: string,
        born_on: { type: ['string', 'null'], format: 'date' },
        parent: {
          ...Pet,
          properties: {
            name: string,
            'born on': { type: ['string', 'null'], format: 'date' },
            parent: { $ref: '#/$defs/Pet' },
          },
        },
      },
      required: ['name'],
      additionalProperties: false,
      $defs: {
        Pet: {
          ...Pet,
          properties: {
            name: string,
            'born on': { type: ['string', 'null'], format: 'date' },
            parent: { $ref: '#/$defs/Pet' },
          },
        },
      },
    })
    expect(http.body).toEqual({ name: '{name}', 'born on': '{born_on}', parent: '{parent}' })
    expect(annotations).toEqual({ openWorld: true })
  })

  test('takes a body that is not a plain object as one argument', () => {
    const body = (schema: object) => ({ requestBody: { required: true, content: { 'application/json': { schema } } } })
    for (const schema of [
      { type: 'array', items: string },
      { allOf: [pet] },
      { type: 'object', additionalProperties: string },
    ]) {
      const { inputSchema, http } = one('put', '/x', body(schema))
      expect([http.body, inputSchema.required]).toEqual(['{body}', ['body']])
    }
    const { inputSchema } = one('put', '/x', body({ $ref: '#/components/schemas/Either' }))
    expect(inputSchema.properties.body).toEqual({ oneOf: [{ type: 'string', maxLength: 9 }, { type: 'integer' }] })
  })

  test('keeps arguments of one name in different places apart', () => {
    const { http } = one('put', '/pets/{id}', {
      parameters: [
        { name: 'id', in: 'path', required: true, schema: string },
        { name: 'id', in: 'query', schema: string },
        { name: 'filter[a b]', in: 'query', schema: string },
        { name: '2nd', in: 'query', schema: string },
        { name: 'SECRET_X', in: 'query', schema: string },
      ],
      requestBody: { content: { 'application/json': { schema: { type: 'object', properties: { id: string } } } } },
    })
    expect(http).toEqual({
      method: 'PUT',
      url: 'https://pets.example.com/v1/pets/{id}',
      query: { id: '{query_id}', 'filter[a b]': '{filter_a_b_}', '2nd': '{_2nd}', SECRET_X: '{_SECRET_X}' },
      body: { id: '{body_id}' },
    })
  })

  test('writes lists and objects into the query as the API expects', () => {
    const object = { type: 'object', properties: { a: string, b: string }, required: ['a'] }
    const list = { type: 'array', items: string }
    const { http, inputSchema } = one('get', '/x', {
      parameters: [
        { name: 'deep', in: 'query', style: 'deepObject', required: true, schema: object },
        { name: 'ids', in: 'query', explode: false, description: 'Ids.', schema: list },
        { name: 'none', in: 'query', schema: { type: 'object' } },
      ],
    })
    expect(http.query).toEqual({ 'deep[a]': '{a}', 'deep[b]': '{b}', ids: '{ids|,}', none: '{none}' })
    expect(http.styles).toEqual({ none: { style: 'form' } })
    expect(inputSchema.required).toEqual(['a'])
    expect(inputSchema.properties.ids).toEqual({ ...list, description: 'Ids.' })
  })

  test('joins lists that may be null or texts, and lists outside the query', () => {
    const list = { type: 'array', items: string }
    const either = { oneOf: [string, list] }
    const { http, inputSchema } = one('get', '/x/{ids}', {
      parameters: [
        { name: 'ids', in: 'path', required: true, schema: list },
        { name: 'X-Tags', in: 'header', schema: { ...list, nullable: true } },
        { name: 'X-Range', in: 'header', schema: { type: 'object', properties: { from: string } } },
        { name: 'kinds', in: 'query', explode: false, schema: { ...list, nullable: true } },
        {
          name: 'deep',
          in: 'query',
          style: 'deepObject',
          schema: { type: ['object', 'null'], properties: { a: string } },
        },
        { name: 'sort', in: 'query', content: { 'application/json': { schema: list } } },
        { name: 'either', in: 'query', explode: false, schema: either },
      ],
    })
    const nullable = { ...list, type: ['array', 'null'] }
    expect(inputSchema.properties).toEqual({
      ids: list,
      'X-Tags': nullable,
      'X-Range': { type: 'object', properties: { from: string } },
      kinds: nullable,
      a: string,
      sort: list,
      either,
    })
    expect([http.url, http.headers, http.query]).toEqual([
      'https://pets.example.com/v1/x/{ids|,}',
      { 'X-Tags': '{X-Tags|,}', 'X-Range': '{X-Range}' },
      { kinds: '{kinds|,}', 'deep[a]': '{a}', sort: '{sort}', either: '{either|,}' },
    ])
    expect(http.styles).toEqual({ 'X-Range': { style: 'simple' }, sort: { style: 'json' } })
  })

  test('writes lists in objects as the examples of the document do, and else in brackets', () => {
    const list = { type: 'array', items: string }
    const deep = (name: string, schema: object, rest: object = {}) => ({
      name,
      in: 'query',
      style: 'deepObject',
      schema,
      ...rest,
    })
    const { http } = one('get', '/x', {
      description: 'Such as `?only=a&only=b`.',
      parameters: [
        deep('expand', list),
        deep('only', list),
        deep('created', { anyOf: [{ type: 'object', properties: { gte: { type: 'integer' } } }, { type: 'integer' }] }),
        deep('items', { type: 'array', items: { type: 'object', properties: { price: string } } }),
        deep('ids', list, { description: 'For example `ids[0]=a&ids[1]=b`.' }),
        deep('fields', { type: 'object', properties: { pets: list } }, { example: 'fields[pets]=name,age' }),
        deep('where', { type: 'object', properties: { tags: list, name: string, owner: { type: 'object' } } }),
        deep('any', { type: 'object', additionalProperties: list }),
      ],
    })
    expect(http.query).toEqual({
      'expand[]': '{expand}',
      only: '{only}',
      created: '{created}',
      items: '{items}',
      ids: '{ids}',
      'fields[pets]': '{pets}',
      'where[tags][]': '{tags}',
      'where[name]': '{name}',
      'where[owner]': '{owner}',
      any: '{any}',
    })
    const style = 'deepObject'
    expect(http.styles).toEqual({
      only: { style, lists: 'repeated' },
      created: { style },
      items: { style },
      ids: { style, lists: 'indices' },
      pets: { style, lists: 'commas' },
      owner: { style },
      any: { style },
    })
  })

  test('writes parameters of the path in the styles of the document', () => {
    const list = { type: 'array', items: string }
    const path = (name: string, style: string, schema: object, explode?: boolean) => ({
      name,
      in: 'path',
      required: true,
      style,
      schema,
      explode,
    })
    const { http } = one('get', '/x{a}/y{b}/{c}/z', {
      parameters: [
        path('a', 'label', string),
        path('b', 'matrix', list, true),
        path('c', 'simple', { type: 'object' }),
        path('gone', 'simple', string),
      ],
    })
    expect([http.url, http.styles]).toEqual([
      'https://pets.example.com/v1/x{a}/y{b}/{c}/z',
      { a: { style: 'label' }, b: { style: 'matrix', explode: true }, c: { style: 'simple' } },
    ])
  })

  test.each([
    ['form', 'application/x-www-form-urlencoded'],
    ['multipart', 'multipart/form-data'],
  ])('sends its fields as a form of the kind %s even if the body is not marked as required', (bodyType, type) => {
    const list = { type: 'array', items: string }
    const schema = {
      type: 'object',
      properties: {
        amount: { type: 'integer' },
        expand: list,
        ids: list,
        tags: list,
        owner: { type: 'object' },
        pets: { type: 'array', items: { type: 'object' } },
        either: { anyOf: [string, { type: 'object' }] },
        whole: list,
        flat: { type: 'object' },
        deep: { type: 'object' },
        photo: { ...string, format: 'binary' },
        photos: {
          anyOf: [
            { ...string, format: 'binary' },
            { type: 'array', items: { ...string, format: 'binary' } },
          ],
        },
      },
      required: ['amount'],
    }
    const encoding = {
      expand: { style: 'deepObject', explode: true },
      ids: { explode: false },
      whole: { contentType: 'application/json' },
      flat: { style: 'form' },
      deep: { style: 'deepObject' },
    }
    const { http, inputSchema } = one('post', '/x', { requestBody: { content: { [type]: { schema, encoding } } } })
    expect(http).toEqual({
      method: 'POST',
      url: 'https://pets.example.com/v1/x',
      body: {
        ...{
          amount: '{amount}',
          'expand[]': '{expand}',
          ids: '{ids}',
          tags: '{tags}',
          owner: '{owner}',
          pets: '{pets}',
        },
        ...{ either: '{either}', whole: '{whole}', flat: '{flat}', deep: '{deep}' },
      },
      bodyType,
      styles: {
        ids: { style: 'form', explode: false },
        owner: { style: 'json' },
        pets: { style: 'json', explode: true },
        either: { style: 'json' },
        whole: { style: 'json' },
        flat: { style: 'form' },
      },
    })
    expect(inputSchema).toMatchObject({ required: ['amount'], properties: { amount: { type: 'integer' }, ids: list } })
  })

  test('lacks headers that it needs no argument for and a fragment of its path, which begins with a slash', () => {
    const header = (name: string, required = false) => ({ name, in: 'header', required, schema: string })
    const names = ['Via', 'Cookie', 'a b'].map((name) => header(name))
    const parameters = [header('Idempotency-Key', true), header('Content-Length', true), ...names, header('X-A')]
    expect(one('get', 'pets', {}).http.url).toBe('https://pets.example.com/v1/pets')
    expect(one('post', '/pets#adopt', { parameters }).http).toEqual({
      method: 'POST',
      url: 'https://pets.example.com/v1/pets',
      headers: { 'X-A': '{X-A}' },
    })
  })

  test('has one argument for each key of its query', () => {
    const query = (name: string, properties: object) => ({ name, in: 'query', schema: { type: 'object', properties } })
    const { http, inputSchema } = one('get', '/x', {
      parameters: [
        query('pages', { page: {}, order: {} }),
        query('rows', { order: {}, row: {} }),
        { name: 'page', in: 'query' },
      ],
    })
    expect(http.query).toEqual({ order: '{order}', row: '{row}', page: '{page}' })
    expect(Object.keys(inputSchema.properties)).toEqual(['order', 'row', 'page'])
  })

  test('requires what its body and its query require, unless the document says that they may be left out', () => {
    const schema = { type: 'object', properties: { a: string, b: string }, required: ['a'] }
    const body = (required?: boolean) => {
      const requestBody = { content: { 'application/json': { schema } }, ...(required !== undefined && { required }) }
      const { inputSchema, http } = one('post', '/x', { requestBody })
      return [http.body, inputSchema.required]
    }
    const parts = { a: '{a}', b: '{b}' }
    expect([body(), body(true), body(false)]).toEqual([
      [parts, ['a']],
      [parts, ['a']],
      ['{body}', undefined],
    ])
    const query = (required: boolean, style: string) => {
      const { inputSchema, http } = one('get', '/x', {
        parameters: [{ name: 'q', in: 'query', required, style, schema }],
      })
      return [http.query, http.styles, inputSchema.required]
    }
    expect([query(true, 'form'), query(false, 'form'), query(false, 'deepObject')]).toEqual([
      [parts, undefined, ['a']],
      [{ q: '{q}' }, { q: { style: 'form' } }, undefined],
      [{ q: '{q}' }, { q: { style: 'deepObject' } }, undefined],
    ])
  })

  test('writes the query in brackets if the document shows them, and repeats keys that it explodes', () => {
    const list = { type: 'array', items: string }
    const { http } = one('get', '/x', {
      parameters: [
        { name: 'sort_by', in: 'query', schema: { type: 'object' }, description: 'Such as sort_by[name]=asc.' },
        { name: 'sort', in: 'query', schema: { type: 'object' } },
        { name: 'a', in: 'query', style: 'spaceDelimited', explode: true, schema: list },
        { name: 'b', in: 'query', style: 'pipeDelimited', schema: list },
        { name: 'c', in: 'query', style: 'simple', schema: list },
        { name: 'd', in: 'query', content: { 'application/json': { schema: string } } },
        { name: 'e', in: 'query', content: { 'text/plain': { schema: string } } },
      ],
    })
    expect([http.query, http.styles]).toEqual([
      { sort_by: '{sort_by}', sort: '{sort}', a: '{a}', b: '{b||}', c: '{c|,}', d: '{d}', e: '{e}' },
      { sort_by: { style: 'deepObject' }, sort: { style: 'form' }, d: { style: 'json' } },
    ])
  })

  test('is read from the target of its reference', () => {
    const shared = { operationId: 'shared', parameters: [{ name: 'q', in: 'query', schema: string }] }
    const { http } = one(
      'get',
      '/x',
      { $ref: '#/components/operations/shared' },
      { components: { operations: { shared } } },
    )
    expect(http.query).toEqual({ q: '{q}' })
  })

  test('sends all keys that it requires together, each from its own secret', () => {
    const schemes = {
      id: { type: 'apiKey', in: 'header', name: 'X-Id' },
      'app-key': { type: 'apiKey', in: 'header', name: 'X-Key' },
      token: { type: 'http', scheme: 'bearer' },
    }
    const components = { securitySchemes: schemes }
    const secured = (...ways: string[][]) => {
      const security = ways.map((way) => Object.fromEntries(way.map((name) => [name, []])))
      return one('get', '/x', { security }, { secret: 'SECRET_PETS', components }).http
    }
    expect(secured(['id', 'app-key'], ['token'])).toMatchObject({
      headers: { 'X-Id': '{SECRET_PETS_ID}', 'X-Key': '{SECRET_PETS_APP_KEY}' },
      secrets: ['SECRET_PETS_ID', 'SECRET_PETS_APP_KEY'],
    })
  })

  test('sends its body as the type of JSON that the API reads', () => {
    const requestBody = (...types: string[]) => {
      const content = Object.fromEntries(types.map((type) => [type, { schema: { type: 'array' } }]))
      const { headers, body } = one('patch', '/x', { requestBody: { required: true, content } }).http
      return [body, headers]
    }
    expect(requestBody('application/vnd.api+json')).toEqual(['{body}', { 'content-type': 'application/vnd.api+json' }])
    expect(requestBody('text/json')).toEqual(['{body}', { 'content-type': 'text/json' }])
    expect(requestBody('application/json, version=1')).toEqual(['{body}', undefined])
    expect(requestBody('text/csv', 'application/merge-patch+json', 'application/json')).toEqual(['{body}', undefined])
    expect(requestBody('application/json; charset=utf-8')).toEqual(['{body}', undefined])
    expect(requestBody('*/*')).toEqual(['{body}', undefined])
  })

  test.each([
    ['get', { readOnly: true, idempotent: true, openWorld: true }],
    ['put', { idempotent: true, openWorld: true }],
    ['delete', { idempotent: true, destructive: true, openWorld: true }],
    ['patch', { openWorld: true }],
  ])('of %s gets the annotations that HTTP defines for the method', (method, annotations) => {
    expect(one(method, '/x', {}).annotations).toEqual(annotations)
  })

  test.each<[string, object, string]>([
    ['its own id', { operationId: 'pets/list' }, 'pets_list'],
    ['its own id without what no provider takes', { operationId: '2fa.enable (beta)' }, '_2fa_enable_beta'],
    ['its method and path if its id has no letter', { operationId: '//' }, 'get_pets_id'],
    ['its method and path', {}, 'get_pets_id'],
  ])('is named by %s', (_, fields, name) => {
    expect(one('get', '/pets/{id}', fields).name).toBe(name)
  })

  test('gets a number if its name is taken, and a name of at most 64 characters', () => {
    const long = 'x'.repeat(80)
    const ids = ['issues/create', 'issues_create', 'issues.create', long, `${long}y`]
    const paths = Object.fromEntries(ids.map((operationId, at) => [`/p${at}`, { get: { operationId } }]))
    expect(readOpenApi(api(paths)).tools.map(({ name }) => name)).toEqual([
      ...['issues_create', 'issues_create_2', 'issues_create_3'],
      ...['x'.repeat(64), `${'x'.repeat(62)}_2`],
    ])
  })

  test('sends headers with secrets that the document does not declare, in place of those that it does', () => {
    const headers = [readSecretHeader('x-api-key=SECRET_A'), readSecretHeader('Authorization=Bearer SECRET_B')]
    const paths = { '/x': { get: { security: [{ token: [] }] } } }
    const { tools } = readOpenApi(api(paths), { headers, secret: 'SECRET_PETS' })
    expect(tools[0]?.definition['http']).toMatchObject({
      headers: { 'x-api-key': '{SECRET_A}', Authorization: 'Bearer {SECRET_B}' },
      secrets: ['SECRET_A', 'SECRET_B'],
    })
    for (const text of ['x-api-key', 'x-api-key=abc', 'a b=SECRET_A'])
      expect(() => readSecretHeader(text)).toThrow(`--header ${text} does not name a header and a secret.`)
  })

  test('gets a unique name, its own texts and no invisible characters', () => {
    const paths = { '/a-b': { get: {} }, '/a_b': { get: { summary: 'A\u200bB\u0007', description: 'x'.repeat(2000) } } }
    const { tools } = readOpenApi(api(paths))
    expect(tools.map(({ name }) => name)).toEqual(['get_a_b', 'get_a_b_2'])
    expect(tools[0]?.definition['description']).toBe('GET /a-b')
    expect(tools[1]?.definition['title']).toBe('AB')
    expect(tools[1]?.definition['description']).toMatch(/^AB\. x{1000,1020}…$/)
  })

  test('sends the key where the document says once a secret is given', () => {
    const secured = (scheme: string) =>
      one('get', '/x', { security: [{ [scheme]: [] }] }, { secret: 'SECRET_PETS' }).http
    expect(secured('key')).toMatchObject({ headers: { 'X-Key': '{SECRET_PETS}' }, secrets: ['SECRET_PETS'] })
    expect(secured('token')).toMatchObject({ headers: { authorization: 'Bearer {SECRET_PETS}' } })
    const either = (...names: string[]) =>
      one('get', '/x', { security: names.map((name) => (name ? { [name]: [] } : {})) }, { secret: 'SECRET_PETS' }).http
    expect(either('query', 'key')).toMatchObject({ headers: { 'X-Key': '{SECRET_PETS}' } })
    expect(either('', 'token')).toMatchObject({ headers: { authorization: 'Bearer {SECRET_PETS}' } })
    expect(either('query', '')).toEqual({ method: 'GET', url: 'https://pets.example.com/v1/x' })
    expect(one('get', '/x', {}, { security: [{ token: [] }] }).http).toEqual({
      method: 'GET',
      url: 'https://pets.example.com/v1/x',
    })
  })

  test.each<[string, object, string | undefined, string]>([
    ['the document', {}, undefined, 'https://pets.example.com/v1/x'],
    ['a host', {}, 'api.example.org', 'https://api.example.org/v1/x'],
    ['an origin', {}, 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/v1/x'],
    ['an origin with a path', {}, 'https://api.example.org/v2/', 'https://api.example.org/v2/x'],
    [
      'a server with variables',
      { servers: [{ url: 'https://{r}.example.com', variables: { r: { default: 'eu' } } }] },
      undefined,
      'https://eu.example.com/x',
    ],
    ['a server without a host', { servers: [{ url: '/v3' }] }, 'api.example.org', 'https://api.example.org/v3/x'],
  ])('is called at the server that %s gives', (_, rest, host, url) => {
    expect(one('get', '/x', {}, { ...rest, host }).http.url).toBe(url)
  })

  test.each<[string, string, object, string]>([
    [
      'a form without fields',
      'post',
      { requestBody: { required: true, content: { 'multipart/form-data': {} } } },
      'its body is multipart/form-data with fields that the document does not name',
    ],
    [
      'a file',
      'post',
      {
        requestBody: {
          content: {
            'multipart/form-data': {
              schema: { properties: { file: { type: 'string', format: 'binary' } }, required: ['file'] },
            },
          },
        },
      },
      'its field file is a file, and tools send none',
    ],
    [
      'XML',
      'post',
      { requestBody: { content: { 'application/xml': { schema: {} } } } },
      'its body is application/xml, and tools send JSON and forms',
    ],
    [
      'an operation of another file',
      'post',
      { $ref: './pets.json#/post' },
      'the reference ./pets.json#/post leads nowhere in the document',
    ],
    [
      'a cookie',
      'get',
      { parameters: [{ name: 's', in: 'cookie', required: true }] },
      'it needs the cookie s, and tools send none',
    ],
    [
      'a header of the connection',
      'get',
      { parameters: [{ name: 'Via', in: 'header', required: true, schema: string }] },
      'http.headers.Via: expected another header: this one is not for a tool to send',
    ],
    [
      'a style that its place has not',
      'get',
      { parameters: [{ name: 'x', in: 'header', required: true, style: 'form', schema: string }] },
      'its parameter x has the style form, which is none of the header',
    ],
    [
      'another file',
      'get',
      { parameters: [{ $ref: 'other.json#/a' }] },
      'the reference other.json#/a leads nowhere in the document',
    ],
    [
      'a parameter in a place of another format',
      'post',
      { parameters: [{ name: 'pet', in: 'body', schema: {} }] },
      'its parameter pet goes into the body, where tools put no parameters',
    ],
    ['a parameter that has no name', 'get', { parameters: [{ in: 'query' }] }, 'one of its parameters has no name'],
    [
      'a query of the name __proto__',
      'get',
      { parameters: [{ name: '__proto__', in: 'query', schema: string }] },
      'it has a part of the name __proto__, and definitions have none',
    ],
    ['a key in the URL', 'get', { security: [{ query: [] }] }, 'its key goes into the query, where a secret must not'],
    ['no tool’s method', 'trace', {}, 'no tool sends TRACE'],
  ])('is skipped if it needs %s', (_, method, fields, expected) => {
    expect(reason(method, '/x', fields, { secret: 'SECRET_PETS' })).toEqual([expected])
  })
})

describe('a filter', () => {
  const operation = (operationId: string, ...tags: string[]) => ({ operationId, tags })
  const document = api({
    '/pets': { get: operation('list', 'pets'), post: operation('create', 'pets', 'write') },
    '/pets/{id}': { get: operation('get', 'pets') },
    '/petshop': { get: operation('shop', 'shops') },
  })
  const NONE = { tags: [], paths: [], operations: [] }
  const names = (filter: Partial<OperationFilter>) => {
    const { tools, total, selected } = readOpenApi(document, { filter: { ...NONE, ...filter } })
    return [tools.map(({ name }) => name), selected, total]
  }

  test('selects operations by tags, paths and names, and takes no more than its limit', () => {
    expect(names({})).toEqual([['list', 'create', 'get', 'shop'], 4, 4])
    expect(names({ tags: ['write', 'shops'] })).toEqual([['create', 'shop'], 2, 4])
    expect(names({ paths: ['/pets'] })).toEqual([['list', 'create', 'get'], 3, 4])
    expect(names({ paths: ['/pets/'], tags: ['pets'] })).toEqual([['get'], 1, 4])
    expect(names({ operations: ['shop', 'POST /pets'] })).toEqual([['create', 'shop'], 2, 4])
    expect(names({ tags: ['pets'], limit: 2 })).toEqual([['list', 'create'], 3, 4])
  })

  test('that names what the document does not have is refused', () => {
    expect(() => names({ tags: ['pets', 'pest'] })).toThrow(
      expect.objectContaining({
        message: 'No operation has the tag "pest".',
        hint: 'Its tags are pets, shops, write.',
      }),
    )
    expect(() => names({ paths: ['pets'] })).toThrow('No operation has the path pets, or one below it.')
    expect(() => names({ operations: ['lits'] })).toThrow('There is no operation "lits".')
    expect(() => limitOf('0')).toThrow('--limit 0: expected a whole number from 1.')
  })
})

test('an operation that refers to thousands of schemas is left out, and soon', () => {
  const to = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const schemas = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`S${at}`, { type: 'object' }]))
  const body = { content: { 'application/json': { schema: { anyOf: Object.keys(schemas).map(to) } } } }
  const { skipped } = readOpenApi(api({ '/x': { post: { requestBody: body } } }, { components: { schemas } }))
  expect(skipped).toEqual([{ operation: 'POST /x', reason: 'it refers to over 1000 schemas' }])
})

test('a definition that would be too large with inlined references keeps its references', () => {
  const wide = (to: string) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [`p${index}`, { $ref: `#/components/schemas/${to}` }]),
    ),
  })
  const schemas = { A: wide('B'), B: wide('C'), C: wide('D'), D: string }
  const body = { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } }
  const { tools, skipped } = readOpenApi(api({ '/x': { post: { requestBody: body } } }, { components: { schemas } }))
  expect(skipped).toEqual([])
  const { inputSchema } = Object(tools[0]?.definition) as Record<string, any>
  expect(inputSchema.properties.p0).toEqual({ $ref: '#/$defs/B' })
  expect(Object.keys(inputSchema.$defs)).toEqual(['B', 'C', 'D'])
  const form = { properties: { a: { $ref: '#/components/schemas/A' }, d: { $ref: '#/components/schemas/D' } } }
  const requestBody = { content: { 'multipart/form-data': { schema: form } } }
  const [tool] = readOpenApi(api({ '/x': { post: { requestBody } } }, { components: { schemas } })).tools
  expect(Object(tool?.definition['http'])).toMatchObject({
    body: { a: '{a}', d: '{d}' },
    styles: { a: { style: 'json' } },
  })
})

test('recursive definitions keep references and are converted quickly', () => {
  const names = Array.from({ length: 30 }, (_, index) => `S${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]))
  const schemas = Object.fromEntries(names.map((name) => [name, { type: 'object', properties }]))
  const body = { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } } }
  const { tools, skipped } = readOpenApi(api({ '/x': { post: { requestBody: body } } }, { components: { schemas } }))
  expect([tools.length, skipped]).toEqual([
    0,
    [{ operation: 'POST /x', reason: expect.stringContaining('expected at most') }],
  ])
  const [some, few] = [names.slice(0, 12), Object.entries(properties).slice(0, 12)]
  const tangled = Object.fromEntries(
    some.map((name) => [name, { type: 'object', properties: Object.fromEntries(few) }]),
  )
  const document = api({ '/x': { post: { requestBody: body } } }, { components: { schemas: tangled } })
  const { inputSchema } = Object(readOpenApi(document).tools[0]?.definition) as Record<string, any>
  expect(Object.keys(inputSchema.$defs).toSorted()).toEqual(some.toSorted())
})

test.each([
  [100, 'its schemas are nested over 500 levels deep'],
  [20_000, 'it refers to over 1000 schemas'],
])('an operation with endlessly nested schemas is skipped, and no other: %d', (count, expected) => {
  const to = (index: number) => ({ $ref: `#/components/schemas/S${index}` })
  const nestSchema = (schema: object) => ({ items: { items: { items: { items: { items: { items: schema } } } } } })
  const schemas = Object.fromEntries(Array.from({ length: count }, (_, at) => [`S${at}`, nestSchema(to(at + 1))]))
  const body = { content: { 'application/json': { schema: to(0) } } }
  const document = api(
    { '/far': { post: { requestBody: body } }, '/near': { get: {} } },
    { components: { schemas: { ...schemas, [`S${count}`]: string } } },
  )
  const { tools, skipped } = readOpenApi(document)
  expect(tools.map(({ name }) => name)).toEqual(['get_near'])
  expect(skipped).toEqual([{ operation: 'POST /far', reason: expected }])
})

test('references to other files are bundled transitively, and unreadable files skip their operations', () => {
  const files: Record<string, unknown> = {
    'paths/pets.json': {
      list: { get: { parameters: [{ $ref: '../shared.json#/page' }, { $ref: '#/filter' }] } },
      filter: { name: 'filter', in: 'query', schema: { $ref: '../shared.json#/filter~1schema' } },
    },
    'shared.json': {
      page: { name: 'page', in: 'query', schema: { type: 'integer' } },
      'filter/schema': { type: 'object', properties: { and: { $ref: 'shared.json#/filter~1schema' }, name: string } },
    },
  }
  const document = api({
    '/pets': { $ref: 'paths/pets.json#/list' },
    '/far': { $ref: 'https://example.com/far.json' },
    '/gone': { $ref: './gone.json' },
  })
  const { tools, skipped } = readOpenApi(bundleOpenApi(document, (path) => files[path]))
  expect(tools.map(({ definition }) => definition['http'])).toEqual([
    { method: 'GET', url: 'https://pets.example.com/v1/pets', query: { page: '{page}', and: '{and}', name: '{name}' } },
  ])
  expect(skipped.map(({ operation }) => operation)).toEqual(['/far', '/gone'])
})

test('a document of a thousand files is read in full', () => {
  const names = Array.from({ length: 1000 }, (_, at) => `/p${at}`)
  const document = api(Object.fromEntries(names.map((name) => [name, { $ref: `.${name}.json` }])))
  const { tools } = readOpenApi(bundleOpenApi(document, () => ({ get: {} })))
  expect(tools.map(({ definition }) => Object(definition['http']).url)).toEqual(
    names.map((name) => `https://pets.example.com/v1${name}`),
  )
})

test('an operation in an unreadable file is skipped, and no other', () => {
  const { tools, skipped } = readOpenApi(api({ '/far': { $ref: './far.yaml' }, '/near': { get: {} } }))
  expect(tools.map(({ name }) => name)).toEqual(['get_near'])
  expect(skipped).toEqual([{ operation: '/far', reason: 'the reference ./far.yaml leads nowhere in the document' }])
})

test.each<[string, unknown, string]>([
  ['no document', [], 'Expected an OpenAPI 3 document, received something else.'],
  ['the format before', { swagger: '2.0' }, 'Expected an OpenAPI 3 document, received Swagger 2.0.'],
  [
    'one that says no host',
    { openapi: '3.1.0', paths: { '/x': { get: {} } } },
    'The document does not say where its API answers.',
  ],
])('the import refuses %s', (_, document, message) => {
  expect(() => readOpenApi(document)).toThrow(message)
})

test('an imported tool is stored and calls the API as it expects', async () => {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ asked: `${method} ${url}`, key: headers['x-key'], body: body && JSON.parse(body) }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const paths = {
    '/pets/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: string }],
      put: {
        parameters: [{ name: 'dry', in: 'query', schema: { type: 'boolean' } }],
        requestBody: { $ref: '#/components/requestBodies/Pet' },
        security: [{ key: [] }],
      },
    },
  }
  const { tools } = readOpenApi(api(paths), { host, secret: 'SECRET_PETS' })
  const [tool] = tools
  const service = definitionsWorker()
  const hosts = { [host]: ['SECRET_PETS'] }
  const written = await service.write('put_pets_id', tool?.definition, hosts)
  if (!written.ok) throw new Error(JSON.stringify(written.issues))
  const request = toolRequest('put_pets_id', { id: 'a/b', dry: true, name: 'Rex', born_on: null })
  const grant = { hosts, secrets: { SECRET_PETS: 'tell-nobody' } }
  expect(await service.call(written.read.stored, request, grant, CONTROL)).toMatchObject({
    ok: true,
    structured: { asked: 'PUT /v1/pets/a%2Fb?dry=true', key: '[redacted]', body: { name: 'Rex', 'born on': null } },
  })
})

describe('the command', () => {
  const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname

  async function run(files: Record<string, string>, args: string[], env: Record<string, string> = {}) {
    const root = mkdtempSync(join(tmpdir(), 'import-test-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content)
    const command = start(process.execPath, [MAIN, 'import', 'openapi', ...args], { cwd: root, env })
    const code = await command.ended
    return { root, code, out: command.out(), errors: command.errors() }
  }

  test('writes a file for each operation, and prints what was skipped and what the edge must allow', async () => {
    const get = { operationId: 'getX', security: [{ key: [] }] }
    const file = JSON.stringify(api({ '/x': { get, trace: {} } }))
    const { root, code, out } = await run({ 'api.json': file }, ['api.json', '--secret', 'SECRET_A'])
    expect(code).toBe(0)
    expect(readDefinitions(root)).toMatchObject([{ file: 'tools/definitions/getX.json', name: 'getX' }])
    expect(JSON.parse(readFileSync(join(root, 'tools/definitions/getX.json'), 'utf8'))).toMatchObject({ name: 'getX' })
    expect(out.split('\n')).toEqual([
      'Left out TRACE /x: no tool sends TRACE',
      '1 definition written to tools/definitions',
      `To let a deployed edge call them, set HTTP_TOOL_HOSTS = '{"pets.example.com":["SECRET_A"]}'`,
      '',
    ])
  })

  test.each<[string, object, string[], string]>([
    [
      'is wanted and not named',
      { security: [{ key: [] }] },
      [],
      'The API needs a key, which these definitions do not send: import again with --secret SECRET_…',
    ],
    [
      'is named and not wanted',
      {},
      ['--secret', 'SECRET_A'],
      'The document does not say where a key goes: say it with --header NAME=SECRET_A, in place of --secret.',
    ],
  ])('reports that a key %s', async (_, fields, args, line) => {
    const file = JSON.stringify(api({ '/x': { get: { operationId: 'getX', ...fields } } }))
    const { out } = await run({ 'api.json': file }, ['api.json', ...args])
    expect(out.split('\n')).toEqual([
      '1 definition written to tools/definitions',
      line,
      `To let a deployed edge call them, set HTTP_TOOL_HOSTS = '{"pets.example.com":[]}'`,
      '',
    ])
  })

  test('reads YAML, and the part of the document that the options name', async () => {
    const yaml = `openapi: 3.0.3
info: { version: 2026-01-02 }
servers: [
  { url: 'https://pets.example.com' },
  { description: "Of

two lines" },
]
x-common: &common
  tags: [pets]
paths:
  /a: { get: { <<: *common, operationId: pets/a, tags: [pets] } }
  /b: { get: { operationId: pets/b, tags: [pets] } }
  /c: { get: { operationId: pets/c, tags: [other] } }
`
    const args = ['api.yaml', '--tag', 'pets', '--limit', '1', '--header', 'x-key=SECRET_A']
    const { root, out, errors } = await run({ 'api.yaml': yaml }, args)
    expect(errors).toBe('')
    expect(readDefinitions(root).map(({ name }) => name)).toEqual(['pets_a'])
    expect(out.split('\n')).toEqual([
      '1 definition written to tools/definitions, of 2 operations that match among 3',
      'Left out 1 more, beyond --limit 1',
      `To let a deployed edge call them, set HTTP_TOOL_HOSTS = '{"pets.example.com":["SECRET_A"]}'`,
      '',
    ])
  })

  test('stores the tools in an edge', async () => {
    const requests: string[] = []
    const server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization}`)
      response.writeHead(201, { 'content-type': 'application/json' }).end('{}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const env = { EDGECALL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, EDGECALL_KEY: 'ek_1' }
    const file = JSON.stringify(api({ '/x': { get: { operationId: 'getX' } } }))
    const { code, root } = await run({ 'api.json': file }, ['api.json', '--put'], env)
    expect([code, requests, readdirSync(root)]).toEqual([0, ['PUT /tools/getX Bearer ek_1'], ['api.json']])
  })

  test('prints its usage', async () => {
    expect(await run({}, ['--help'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('Usage: edgecall import openapi <file>'),
    })
  })

  test.each<[string, string[], number, RegExp]>([
    ['broken YAML', ['broken.yaml'], 1, /broken\.yaml cannot be read: /],
    ['YAML that grows by aliases', ['bomb.yaml'], 1, /bomb\.yaml cannot be read: /],
    ['a document of 20,000 levels', ['deep.json'], 1, /deep\.json cannot be read: it is nested over 100 levels deep/],
    ['a file that is not there', ['none.json'], 1, /none\.json cannot be read: /],
    ['nothing', [], 2, /^import openapi needs <file>/],
    ['a name of no secret', ['api.json', '--secret', 'KEY'], 1, /^--secret KEY is not a valid name of a secret\.\n/],
    ['a document without operations', ['empty.json'], 1, /^empty\.json has no operation/],
  ])('refuses %s', async (_, args, code, errors) => {
    const deep = `${'{"paths":'.repeat(20_000)}{}${'}'.repeat(20_000)}`
    const levels = Array.from(
      { length: 12 },
      (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(', ')}]`,
    )
    const bomb = `a0: &a0 x\n${levels.join('\n')}\n`
    const files = {
      'broken.yaml': 'openapi: [',
      'bomb.yaml': bomb,
      'empty.json': JSON.stringify(api({})),
      'deep.json': deep,
    }
    expect(await run(files, args)).toMatchObject({ code, errors: expect.stringMatching(errors) })
  })
})
