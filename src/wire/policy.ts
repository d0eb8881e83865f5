import * as v from 'valibot'
import { isObject, POINTER } from '../contract/json.ts'
import { byName, optionalCount, either, isText } from './schema.ts'

const flag = v.exactOptional(v.boolean())

/** The fields of `ToolAnnotations`. */
export const ANNOTATIONS = {
  readOnly: flag,
  idempotent: flag,
  destructive: flag,
  openWorld: flag,
  untrusted: flag,
  private: flag,
}

/** The annotations of a tool that its caller runs: the edge only asks what its results may contain. */
export const CALLER_ANNOTATIONS = { untrusted: flag, private: flag }

const number = v.exactOptional(v.number())

function isNumber(value: unknown): boolean {
  return typeof value === 'number'
}

const CONDITION = v.strictObject({
  minimum: number,
  maximum: number,
  enum: v.exactOptional(v.array(either(isText, v.string(), either(isNumber, v.number(), v.nullable(v.boolean()))))),
  like: v.exactOptional(v.array(v.string())),
})

const UNLESS = v.strictObject({ unless: byName(v.pipe(v.string(), v.regex(POINTER)), CONDITION) })
const UNLESS_TEXT = 'or { unless: { "/pointer": { minimum?, maximum?, enum?, like? } } }.'

/** The schema of an `Approval`. */
export const APPROVAL = either(
  isObject,
  UNLESS,
  v.picklist(['never', 'always'], `must be "never", "always" ${UNLESS_TEXT}`),
)

/** The schema of the approval that a policy demands. */
const POLICY_APPROVAL = either(
  isObject,
  UNLESS,
  v.picklist(['never', 'always', 'decide'], `must be "never", "always", "decide" ${UNLESS_TEXT}`),
)

const texts = v.exactOptional(v.array(v.string()))

/** The schema of a deployment's `ToolPolicies`. */
export const POLICIES = byName(
  v.string(),
  v.strictObject({
    scopes: texts,
    tenants: texts,
    rate: v.exactOptional(v.string()),
    concurrency: optionalCount,
    timeoutMs: optionalCount,
    maxResultBytes: optionalCount,
    approval: v.exactOptional(POLICY_APPROVAL),
    hosts: texts,
    approvers: texts,
    annotations: v.exactOptional(v.strictObject(ANNOTATIONS)),
  }),
)
