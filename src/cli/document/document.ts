import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../contract/json.ts'
import { ANSWERS } from './answers.ts'
import { bodySchemas } from './bodies.ts'
import { CLIENT_ROUTES } from './client-routes.ts'
import { configurationPages } from './configuration.ts'
import { errorPages } from './errors/page.ts'
import { eventSchemas } from './events.ts'
import { ref } from './json-schema.ts'
import { operationOf } from './operation.ts'
import { BACKUP_ROUTES } from './backup-routes.ts'
import { KEY_ROUTES } from './key-routes.ts'
import { OPERATOR_ROUTES } from './operator-routes.ts'
import { RUN_ROUTES } from './run-routes.ts'
import { toolFieldsText } from './tool-fields.ts'
import { TOOL_ROUTES } from './tool-routes.ts'

/** The file of the JSON document. Its name ends in `.txt` because wrangler bundles such a file as text. */
const FILE = 'src/http/openapi.txt'

const ROUTES = { ...CLIENT_ROUTES, ...RUN_ROUTES, ...OPERATOR_ROUTES, ...BACKUP_ROUTES, ...KEY_ROUTES, ...TOOL_ROUTES }

const TAGS = {
  OpenAI: 'The APIs of OpenAI, for its clients and compatible ones.',
  Runs: 'A run takes one input and calls the model and tools until it has an answer.',
  Conversations: 'A conversation stores messages and runs, so that later runs see earlier ones.',
  Tools: 'The tools that models can call, and their stored definitions.',
  Keys: 'API keys that operators make and change without a deployment.',
  Clients: 'The protocols of other clients, such as the AI SDK and MCP.',
  Edge: 'The edge itself. These routes need no API key.',
}

/** Makes the OpenAPI 3.1 document of the edge: its routes, and the schemas that check requests. */
export function openApiDocument(version: string): JsonObject {
  return withOpenObjects({
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
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key from `API_KEYS`, or a token from a configured identity provider.',
        },
      },
      responses: {
        Problem: {
          description: 'An error, as problem details (RFC 9457).',
          content: { 'application/problem+json': { schema: ref('Problem') } },
        },
        OpenAIError: {
          description: 'An error in OpenAI’s format.',
          content: { 'application/json': { schema: ref('OpenAIError') } },
        },
      },
      schemas: { ...bodySchemas(), ...ANSWERS, ...eventSchemas() },
    },
  })
}

/** Says of each object without named members that it may have any: generators of types take it for an empty object. */
function withOpenObjects<Value>(value: Value): Value
function withOpenObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withOpenObjects)
  if (!isObject(value)) return value
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withOpenObjects(member)]))
  const isBare = value['type'] === 'object' && !hasMembers(value['properties']) && !('additionalProperties' in value)
  return isBare ? { ...members, additionalProperties: true } : members
}

function hasMembers(properties: unknown): boolean {
  return isObject(properties) && Object.keys(properties).length > 0
}

/** Formats the document as it is bundled, with a line for each path and schema, so that diffs are readable. */
export function documentText(root: string): string {
  const { paths, components, ...rest } = openApiDocument(versionOf(root))
  const { schemas, ...others } = isObject(components) ? components : {}
  const head = JSON.stringify({ ...rest, paths: 0 }).replace(/0\}$/, '')
  const tail = JSON.stringify({ ...others, schemas: 0 }).replace(/0\}$/, '')
  return `${head}${lines(paths)},\n"components":${tail}${lines(schemas)}}}\n`
}

/** Returns the pages of docs/ that are made from tables, by file. */
export function documentPages(): Readonly<Record<string, string>> {
  return { ...configurationPages(), ...errorPages(), 'tool-definition.md': toolFieldsText() }
}

/** Writes the OpenAPI document, which the edge imports, and the texts of docs/ that are made from tables. */
export function writeDocument(root: string): void {
  mkdirSync(join(root, 'docs'), { recursive: true })
  const pages = Object.entries(documentPages()).map(([file, text]) => [`docs/${file}`, text] as const)
  for (const [file, text] of [[FILE, documentText(root)] as const, ...pages]) {
    writeFileSync(join(root, file), text)
    process.stdout.write(`wrote ${file}\n`)
  }
}

function versionOf(root: string): string {
  const read: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return isObject(read) ? String(read['version']) : ''
}

function lines(members: unknown): string {
  const all = isObject(members) ? Object.entries(members) : []
  return `{\n${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',\n')}\n}`
}
