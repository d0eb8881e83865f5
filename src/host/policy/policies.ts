import * as v from 'valibot'
import { withoutUndefined } from '../../contract/json.ts'
import type { HoldingPolicy, PolicySubject, ToolPolicies, ToolPolicy } from '../../contract/policy.ts'
import type { ToolAnnotations, ToolDefinition } from '../../contract/tool-definition.ts'
import type { Caller, ToolSource } from '../../contract/tool.ts'
import { ConfigError, jsonVar, type Vars } from '../../contract/vars.ts'
import { matchesName } from '../../contract/tool-names.ts'
import { namesForPolicies, type ToolPattern, unmatchedPatterns } from '../../contract/tool-patterns.ts'
import { POLICIES } from '../../wire/policy.ts'
import type { Report } from '../../contract/setup.ts'
import { within } from '../../contract/time-limit.ts'

/** Reads the operator's policies from `TOOL_POLICY`. Throws a ConfigError that says what is wrong, and where. */
export function readPolicies(vars: Vars): ToolPolicies {
  const expected = 'a JSON object of policies'
  const parsed = v.safeParse(POLICIES, jsonVar(vars, 'TOOL_POLICY', expected) ?? {})
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new ConfigError(
    'TOOL_POLICY',
    `${expected}; at ${v.getDotPath(issue) ?? ''}: ${issue.message.replace(/ but received .*$/s, '')}`,
  )
}

/**
 * Returns the policies that apply to a tool, in their order. A policy holds under every name of a tool: that on offer, its
 * own (`files.delete`), and that on the server from which it comes. What a policy by tag or by a name on a server says of
 * annotations only tightens, since the tool's author chooses these.
 */
export function policiesOf(policies: ToolPolicies, tool: PolicySubject): readonly ToolPolicy[] {
  return holdingPolicies(policies, tool).map(({ policy }) => policy)
}

/** Returns the policies that apply to a tool, as `policiesOf` does, each with its pattern. */
export function holdingPolicies(policies: ToolPolicies, tool: PolicySubject): readonly HoldingPolicy[] {
  const { names, namesByAuthor } = namesForPolicies(tool)
  return Object.entries(policies).flatMap(([pattern, policy]) => {
    if (matchesName(pattern, names)) return [{ pattern, policy }]
    if (!matchesName(pattern, namesByAuthor)) return []
    const { annotations } = policy
    return [{ pattern, policy: annotations ? { ...policy, annotations: tightening(annotations) } : policy }]
  })
}

/** The value of each annotation that makes the host more careful. */
const CAREFUL: Required<ToolAnnotations> = {
  readOnly: false,
  idempotent: false,
  destructive: true,
  openWorld: true,
  untrusted: true,
  private: true,
}

/** Returns those of the annotations that make the host more careful. */
export function tightening(annotations: ToolAnnotations): ToolAnnotations {
  const careful: Readonly<Record<string, boolean>> = CAREFUL
  return Object.fromEntries(Object.entries(annotations).filter(([name, value]) => careful[name] === value))
}

/** Returns whether a caller may see and call a tool with these policies. */
export function isAllowed(policies: readonly ToolPolicy[], { tenant, scopes }: Caller): boolean {
  return policies.every(
    ({ scopes: requiredScopes = [], tenants }) =>
      requiredScopes.every((scope) => scopes.includes(scope)) && (tenants?.includes(tenant) ?? true),
  )
}

/** Applies policies to a definition. They only tighten its limits and its approval; annotations they replace. */
export function tighten(definition: ToolDefinition, policies: readonly ToolPolicy[]): ToolDefinition {
  const lowest = (own: number | undefined, of: (policy: ToolPolicy) => number | undefined) => {
    const bounds = [own, ...policies.map(of)].filter((value) => value !== undefined)
    return bounds.length > 0 ? Math.min(...bounds) : undefined
  }
  const limits = {
    timeoutMs: lowest(definition.timeoutMs, ({ timeoutMs }) => timeoutMs),
    maxResultBytes: lowest(definition.maxResultBytes, ({ maxResultBytes }) => maxResultBytes),
    maxConcurrent: lowest(definition.maxConcurrent, ({ concurrency }) => concurrency),
  }
  const { modelMayApprove: _, ...declared } = definition
  const approval = [{ approval: ruleOf(definition) }, ...policies]
    .map((each) => each.approval ?? 'never')
    .reduce(stricter)
  const restricted: ToolDefinition = {
    ...declared,
    ...withoutUndefined(limits),
    ...(approval === 'decide' ? APPROVED_BY_MODEL : approval !== 'never' && { approval }),
    annotations: Object.assign({}, definition.annotations, ...policies.map(({ annotations }) => annotations)),
  }
  own.set(restricted, definition)
  return restricted
}

/**
 * Applies the controls of the tool that an alias calls: the stricter of both approvals, limits and annotations. An
 * annotation that only the alias has, such as that its calls may be sent again, does not count.
 */
export function tightenAlias(alias: ToolDefinition, target: ToolDefinition): ToolDefinition {
  const { name, ownName, timeoutMs, maxResultBytes, maxConcurrent, exclusive, reconcile, undo, later } = target
  const approval = ruleOf(target)
  const policy: ToolPolicy = {
    approval,
    timeoutMs,
    maxResultBytes,
    concurrency: maxConcurrent,
  }
  return {
    ...tighten(alias, [policy]),
    annotations: { ...target.annotations, ...tightening(alias.annotations) },
    ...(exclusive !== undefined && { exclusive }),
    ...(reconcile && { reconcile }),
    ...(undo && { undo }),
    ...(later && { later }),
    ...(ownName !== undefined && { ownName }),
    aliasOf: name,
  }
}

const own = new WeakMap<ToolDefinition, ToolDefinition>()

/** Returns a definition as its tool gave it, before any policy. */
export function untightened(definition: ToolDefinition): ToolDefinition {
  return own.get(definition) ?? definition
}

/** How a definition says what the policy `decide` means: whatever does not know the second member asks a person. */
const APPROVED_BY_MODEL = { approval: 'always', modelMayApprove: true } as const

type Rule = NonNullable<ToolPolicy['approval']>

/** Returns the rule of a definition, as a policy says it. */
function ruleOf({ approval, modelMayApprove }: ToolDefinition): Rule | undefined {
  return modelMayApprove && approval === 'always' ? 'decide' : approval
}

/**
 * Combines two approvals: a call needs no person only if both allow that. A model is asked only where nothing but
 * `decide` demands an approval.
 */
function stricter(first: Rule, second: Rule): Rule {
  if (first === 'always' || second === 'always') return 'always'
  if (first === 'never' || first === second) return second
  if (second === 'never') return first
  if (first === 'decide' || second === 'decide') return 'always'
  const unless = { ...first.unless }
  for (const [pointer, condition] of Object.entries(second.unless)) {
    const otherCondition = unless[pointer]
    // Two conditions of one kind on one argument are not intersected: a person is always asked instead.
    if (otherCondition && Object.keys(condition).some((word) => Object.hasOwn(otherCondition, word))) return 'always'
    unless[pointer] = { ...otherCondition, ...condition }
  }
  return { unless }
}

interface ReportOptions {
  readonly patterns: readonly ToolPattern[]
  /** The bindings of tool Workers, which patterns may name whatever their tools. */
  readonly bindings: readonly string[]
  /** The tools of the Workers, and the stored ones, without policies. */
  readonly sources: readonly ToolSource[]
  readonly report: Report
}

/** With more tools than this, only `edgecall doctor` looks for patterns without tools. */
const MOST_TOOLS = 1000
const LONGEST_MS = 2000
/** How often it is tried while a source cannot be listed. */
const MOST_ATTEMPTS = 10

/**
 * Returns a function that reports, once, the patterns of variables that match no tool: a policy for a tool that is
 * misspelt or gone would have no effect, without a word. As long as a source cannot be listed, nothing is reported.
 */
export function reportUnmatched({ patterns, bindings, sources, report }: ReportOptions): () => Promise<void> {
  let openPatterns = patterns
  let attempts = 0
  const check = async () => {
    if (++attempts > MOST_ATTEMPTS) openPatterns = []
    let subjects: Parameters<typeof unmatchedPatterns>[1] = []
    for (const source of sources) {
      if (source.size && (await source.size()) > MOST_TOOLS) return
      const { tools, unavailable } = await source.list()
      if (unavailable.some(({ name }) => name === undefined)) return
      const others = unavailable.map(({ name = '', place, pending }) => ({
        definition: pending?.definition ?? { name },
        place,
      }))
      subjects = [...subjects, ...tools, ...others]
      if (unmatchedPatterns(openPatterns, subjects, bindings).length === 0) break
    }
    const unmatched = unmatchedPatterns(openPatterns, subjects, bindings)
    openPatterns = []
    for (const each of unmatched) report({ event: 'tools.unmatched', ...each })
  }
  return async () => {
    if (openPatterns.length > 0)
      await within<void>(
        LONGEST_MS,
        check().catch(() => {}),
        undefined,
      )
  }
}
