import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../contract/json.ts'
import { ANSWERS } from './answers.ts'
import { bodySchemas } from './bodies.ts'
import { CLIENT_ROUTES } from './client-routes.ts'
import { named, operationOf } from './operation.ts'
import { RUN_ROUTES } from './run-routes.ts'
import { TOOL_ROUTES } from './tool-routes.ts'

/** JSON in a file of this name, since Wrangler bundles such a file as its text, as it does a page. */
const FILE = 'src/http/openapi.txt'

const ROUTES = { ...CLIENT_ROUTES, ...RUN_ROUTES, ...TOOL_ROUTES }

const TAGS = {
  OpenAI: 'As OpenAI’s clients speak it.',
  Runs: 'A run is one input and what comes of it.',
  Conversations: 'A conversation keeps its runs.',
  Tools: 'What models can call.',
  Clients: 'What other clients speak.',
  Edge: 'No key is needed.',
}

/** The OpenAPI 3.1 document of the edge: its routes, and the schemas that requests are checked with. */
export function openApiDocument(version: string): JsonObject {
  return {
    openapi: '3.1.0',
    info: { title: 'Edgecall', version, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      Object.entries(ROUTES).map(([path, methods]) => [
        path,
        Object.fromEntries(Object.entries(methods).map(([method, route]) => [method, operationOf(path, route)])),
      ]),
    ),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key of API_KEYS.' } },
      responses: {
        Problem: { description: 'An error.', content: { 'application/problem+json': { schema: named('Problem') } } },
        OpenAIError: { description: 'An error.', content: { 'application/json': { schema: named('OpenAIError') } } },
      },
      schemas: { ...bodySchemas(), ...ANSWERS },
    },
  }
}

/** The text of the document as it is bundled: a line for each path and schema, so that a change can be read. */
export function documentText(root: string): string {
  const { paths, components, ...rest } = openApiDocument(versionOf(root))
  const { schemas, ...others } = isObject(components) ? components : {}
  const head = JSON.stringify({ ...rest, paths: 0 }).replace(/0\}$/, '')
  const tail = JSON.stringify({ ...others, schemas: 0 }).replace(/0\}$/, '')
  return `${head}${lines(paths)},\n"components":${tail}${lines(schemas)}}}\n`
}

/** Writes the document where the edge imports it from. */
export function writeDocument(root: string): void {
  writeFileSync(join(root, FILE), documentText(root))
  process.stdout.write(`${FILE} is written\n`)
}

function versionOf(root: string): string {
  const read: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return isObject(read) ? String(read['version']) : ''
}

function lines(members: unknown): string {
  const all = isObject(members) ? Object.entries(members) : []
  return `{\n${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',\n')}\n}`
}
