import { type JsonSchema as MadeSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import * as v from 'valibot'
import type { JsonSchema } from '../../contract/json.ts'
import { ALIAS, CODE_TOOL, HTTP_TOOL, SCRIPT_BODY, STATIC_TOOL } from '../../definitions/definition.ts'
import { conversationBody, forkBody } from '../../wire/client/conversation.ts'
import { callBody, message, runBody } from '../../wire/client/request.ts'
import { scheduleBody, scheduleChange } from '../../wire/client/schedule.ts'
import { contentPart, parametersSchema, runOptionSchemas } from '../../wire/schema.ts'
import { CLIENT_BODIES } from './client-routes.ts'
import { limitTexts } from './configuration.ts'
import { describable } from './describable.ts'
import { flag, object, ref, text } from './json-schema.ts'
import { KEY_TERMS } from './operator-answers.ts'
import { fieldTexts } from './tool-fields.ts'

/** The Valibot schemas with which the edge checks requests, by their names in the document. */
const CHECKED = {
  RunBody: runBody,
  RunOptions: v.omit(runBody, ['input']),
  Message: message,
  Content: contentPart,
  Limits: runOptionSchemas.limits.wrapped,
  ToolContext: runOptionSchemas.context.wrapped,
  ToolSelection: runOptionSchemas.tools.wrapped,
  InputSchema: parametersSchema,
  CallBody: callBody,
  ConversationBody: conversationBody,
  ForkBody: forkBody,
  ScheduleBody: scheduleBody,
  ScheduleChange: scheduleChange,
  ...CLIENT_BODIES,
  HttpTool: HTTP_TOOL,
  ToolAlias: ALIAS,
  StaticTool: STATIC_TOOL,
  CodeTool: CODE_TOOL,
  ScriptTool: SCRIPT_BODY,
} as const

/** The schemas of bodies that the edge checks without a Valibot schema. */
const READ = {
  Definition: {
    oneOf: [ref('HttpTool'), ref('ToolAlias'), ref('StaticTool'), ref('CodeTool'), ref('ScriptTool')],
  },
  OutcomeReport: {
    anyOf: [
      {
        type: 'object',
        properties: {
          progress: {
            type: 'object',
            properties: { message: { type: 'string' }, fraction: { type: 'number' }, data: {} },
          },
        },
        required: ['progress'],
      },
      {
        type: 'object',
        properties: { result: { description: 'A text stays as it is; anything else is JSON for the model.' } },
        required: ['result'],
      },
      {
        type: 'object',
        properties: {
          error: {
            description: 'A text for the model, or an error with a code.',
            anyOf: [
              { type: 'string' },
              {
                type: 'object',
                properties: { code: { type: 'string' }, message: { type: 'string' } },
                required: ['message'],
              },
            ],
          },
        },
        required: ['error'],
      },
      {
        type: 'object',
        properties: { outcome: { type: 'object', description: 'An outcome as a tool Worker answers it.' } },
        required: ['outcome'],
      },
    ],
  },
  CallAnswer: {
    anyOf: [
      {
        type: 'object',
        properties: {
          decision: { enum: ['approve', 'reject'] },
          reason: { type: 'string', description: 'The reason of a rejection, which the model reads.' },
          input: {
            type: 'object',
            description: 'What the person filled in, by the names of the requests in `input` of the approval.',
          },
          argumentsHash: {
            type: 'string',
            description:
              'SHA-256 of the canonical JSON of the arguments that the person saw. If the call has others, the decision is refused.',
          },
          arguments: {
            type: 'object',
            description:
              'Arguments to call the tool with in place of the model’s. For approvals only; the model is told.',
          },
        },
        required: ['decision'],
      },
      {
        type: 'object',
        properties: {
          result: { description: 'The result of the call: a string or any other JSON value.' },
          ok: { type: 'boolean', description: 'Default: true.' },
        },
        required: ['result'],
      },
    ],
  },
  RewindBody: {
    type: 'object',
    properties: { at: { type: 'string', format: 'date-time' } },
    required: ['at'],
  },
  KeyBody: object({ id: text, tenant: text }, { ...KEY_TERMS, disabled: flag }),
  KeyChange: object({}, { ...KEY_TERMS, disabled: flag }),
  KeyRotation: object({}, { keepOld: flag }),
  SignInBody: {
    type: 'object',
    properties: { issuer: { type: 'string', description: 'The authorization server that credentials may go to.' } },
  },
  SignInCode: {
    type: 'object',
    properties: { code: { type: 'string', description: 'What the page showed to the person who signed in.' } },
    required: ['code'],
  },
  HashBody: { type: 'object', properties: { hash: { type: 'string' } }, required: ['hash'] },
  McpMessage: {
    type: 'object',
    description: 'One JSON-RPC 2.0 request, notification or reply of the Model Context Protocol.',
    properties: {
      jsonrpc: { const: '2.0' },
      id: { type: ['string', 'integer'] },
      method: { type: 'string' },
      params: { type: 'object' },
      result: { type: 'object' },
      error: { type: 'object' },
    },
    required: ['jsonrpc'],
  },
}

/** Returns the schemas of all request bodies, for `components.schemas`. */
export function bodySchemas(): Readonly<Record<string, JsonSchema>> {
  const schemas = toJsonSchemaDefs(
    Object.fromEntries(Object.entries(CHECKED).map(([name, s]) => [name, describable(s)])),
    {
      target: 'draft-2020-12',
      typeMode: 'input',
      // JSON Schema cannot express checks by code; the descriptions state them.
      ignoreActions: ['check'],
      overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
      overrideSchema: ({ jsonSchema }) => withoutDefault(withoutEmpty(jsonSchema)),
    },
  )
  return { ...schemas, ...withWords(schemas), ...READ }
}

/** Describes what code checks: in JSON Schema where that is possible, else in a description. */
function withWords(schemas: Readonly<Record<string, object>>): Readonly<Record<string, JsonSchema>> {
  const edgecall = { anyOf: [ref('RunOptions'), { type: 'null' }] }
  return {
    InputSchema: {
      type: 'object',
      properties: { type: { enum: ['object'] } },
      additionalProperties: true,
      description: 'A JSON Schema.',
    },
    Limits: described(schemas['Limits'], limitTexts()),
    ...Object.fromEntries(
      ['HttpTool', 'ToolAlias', 'StaticTool', 'CodeTool'].map((name) => [name, described(schemas[name], fieldTexts())]),
    ),
    ToolContext: { type: 'object', description: 'Values for tools, which no model sees. At most 16 KiB of JSON.' },
    UseChatBody: { ...schemas['UseChatBody'], properties: { ...propertiesOf(schemas['UseChatBody']), edgecall } },
  }
}

/** Adds its text to each property that has one. */
function described(
  schema: { readonly properties?: object } | undefined,
  texts: Readonly<Record<string, string>>,
): JsonSchema {
  const properties = Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const description = texts[name]
    return [name, { ...property, ...(description !== undefined && { description }) }]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

function propertiesOf(schema: { readonly properties?: object } | undefined): object {
  return schema?.properties ?? {}
}

/** Says a default in words: generators of types take a member that has `default` for one that must be sent. */
function withoutDefault({ default: value, description, ...rest }: MadeSchema): MadeSchema {
  if (value === undefined) return { ...rest, ...(description !== undefined && { description }) }
  const words = `Default: \`${JSON.stringify(value)}\`.`
  return { ...rest, description: description === undefined ? words : `${description} ${words}` }
}

/** Removes empty `properties` and `required`, which say nothing. */
function withoutEmpty({ properties, required, ...rest }: MadeSchema): MadeSchema {
  const isBare = properties === undefined || Object.keys(properties).length === 0
  return { ...rest, ...(!isBare && { properties }), ...(required?.length && { required }) }
}
