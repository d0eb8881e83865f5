import { toJsonSchema } from '@valibot/to-json-schema'
import type { JsonSchema } from '../../contract/json.ts'
import { TOOL_FIELDS } from '../../wire/tool-fields.ts'
import { commentsOf } from './comments.ts'
import { describable } from './describable.ts'
import { markdownTable } from './table.ts'

/** Returns what each field of a tool's definition means. */
export function fieldTexts(): Readonly<Record<string, string>> {
  return commentsOf(
    new URL('../../contract/tool-definition.ts', import.meta.url),
    'interface ToolDefinition',
    TOOL_FIELDS,
  )
}

/** Returns the fields of a listed tool, each with its type and its meaning. */
export function fieldSchemas(): Readonly<Record<string, JsonSchema>> {
  const texts = fieldTexts()
  const entries = Object.entries(TOOL_FIELDS).map(([field, rule]): readonly [string, JsonSchema] => {
    const { $schema: _, ...schema } =
      'worker' in rule
        ? toJsonSchema(describable(rule.worker), { target: 'draft-2020-12', ignoreActions: ['check', 'transform'] })
        : { type: 'string' as const }
    return [field, { ...schema, description: texts[field] ?? '' }]
  })
  return Object.fromEntries(entries)
}

/** Returns docs/tool-definition.md: a table of the fields, with the places where each may stand. */
export function toolFieldsText(): string {
  const texts = fieldTexts()
  const rows = Object.entries(TOOL_FIELDS).map(([field, rule]) => [
    `\`${field}\``,
    texts[field] ?? '',
    ...['worker', 'stored', 'caller'].map((place) => (place in rule ? 'yes' : '')),
  ])
  return `${INTRODUCTION}\n${markdownTable([['Field', 'Meaning', 'Tool Worker', 'Stored', 'Caller'], ...rows])}`
}

const INTRODUCTION = `# The fields of a tool's definition

A field may stand in the description of a tool Worker (\`defineTool\`, or \`describe()\` of a Worker in another language),
in a definition that is stored with \`PUT /tools/{name}\`, and in a tool that a caller brings along (\`clientTools\`). The
edge sets the others. A stored definition has one more field, which is its kind: \`http\`, \`code\`, \`static\`, \`worker\`, or \`binding\`
and \`call\` for an alias; with \`default: true\` it is offered to requests that name no tools.

<!-- Written by \`npm run openapi\` from src/contract/tool-definition.ts and src/wire/tool-fields.ts. -->
`
