/** How those who write function schemas differ in what they mean by the same thing. */
export interface Style {
  readonly name: string
  /** How functions are called there. */
  readonly names: readonly string[]
  /** Written into the root. */
  readonly $schema?: string
  /** Where shared schemas are kept. */
  readonly defs: '$defs' | 'definitions'
  readonly nullable: 'anyOf' | 'oneOf' | 'types' | 'keyword'
  readonly tuple: 'prefixItems' | 'items'
  /** Whether objects say that they take no other keys. */
  readonly closed: boolean
  /** Whether each part has a title, as exports of classes have. */
  readonly titled: boolean
  /** Formats and other annotations that say nothing to a validator. */
  readonly notes: readonly object[]
}

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'

export const STYLES: readonly Style[] = [
  {
    name: 'a benchmark of function calls',
    names: ['math.factorial', 'get_weather', 'calculate_triangle_area', 'geo.distance.calculate', '2d.rotate'],
    defs: '$defs',
    nullable: 'types',
    tuple: 'items',
    closed: false,
    titled: false,
    notes: [{ default: null }, {}],
  },
  {
    name: 'an OpenAPI document',
    names: ['GET /users/{id}', 'createPet', 'repos/list-for-org', 'users.messages.send', 'Send Mail (v2)'],
    defs: '$defs',
    nullable: 'keyword',
    tuple: 'items',
    closed: false,
    titled: false,
    notes: [{ example: 'x' }, { readOnly: true }, { 'x-internal': { a: 1 } }, { deprecated: false }],
  },
  {
    name: 'an MCP server',
    names: ['search-issues', 'notion.pages.create', 'fs/read_file', 'browser_click', '-verbose'],
    $schema: DRAFT_07,
    defs: 'definitions',
    nullable: 'types',
    tuple: 'items',
    closed: true,
    titled: false,
    notes: [{}, { examples: ['a'] }, { $comment: 'internal' }],
  },
  {
    name: 'an export of Python classes',
    names: ['Create_Ticket', 'search documents', 'überweisung', '查询天气', 'agent:handoff'],
    defs: '$defs',
    nullable: 'anyOf',
    tuple: 'prefixItems',
    closed: false,
    titled: true,
    notes: [{ default: null }, { description: 'As it says.' }, {}],
  },
  {
    name: 'an export of TypeScript schemas',
    names: ['sendEmail', 'calendar.events.insert', '🌤️ forecast', 'list_x2e_all', 'queue_h0123456789abcdef'],
    $schema: DRAFT_2020,
    defs: '$defs',
    nullable: 'oneOf',
    tuple: 'prefixItems',
    closed: true,
    titled: false,
    notes: [{}, { format: 'int64' }, { format: 'x-unknown' }],
  },
]
