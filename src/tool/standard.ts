/**
 * A schema of any library that follows Standard Schema, as far as tools need one: it validates, and gives its JSON
 * Schema. Valibot's schemas are such, and those of `jsonSchema(…)`; so are those of libraries that implement Standard
 * JSON Schema, such as Zod and ArkType.
 */
export interface InputSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly jsonSchema?: JsonSchemaMaker
  }
}

interface JsonSchemaMaker {
  readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key?: unknown })[] | undefined
}

/** What a schema makes of a value that fits it. */
export type OutputOf<Schema extends InputSchema> = NonNullable<Schema['~standard']['types']>['output']
