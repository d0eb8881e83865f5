/**
 * The part of Standard Schema (https://standardschema.dev) that tools need: a schema validates values, and returns its
 * JSON Schema. Valibot's schemas work, those of `jsonSchema(…)`, and those of libraries that implement Standard JSON
 * Schema, such as Zod and ArkType.
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

/** The type of the value that a schema makes of its input. */
export type OutputOf<Schema extends InputSchema> = NonNullable<Schema['~standard']['types']>['output']
