import type { CheckProblem } from '../check/problem.ts'
import { type Environment, ownersIn } from '../check/environments.ts'
import type { Target } from '../check/target.ts'
import type { AccountApi, ResourceType } from './account-api.ts'
import type { Step } from './plan.ts'

const KINDS: Readonly<Record<ResourceType, { readonly noun: string; readonly create: string; readonly id: string }>> = {
  kv_namespace: { noun: 'KV namespace', create: 'kv namespace create', id: 'id' },
  d1: { noun: 'D1 database', create: 'd1 create', id: 'database_id' },
  r2_bucket: { noun: 'R2 bucket', create: 'r2 bucket create', id: 'bucket_name' },
}

interface Binding {
  readonly type: ResourceType
  readonly name: string
  /** As the configuration names it. Wrangler makes a new resource, or takes the one that the live Worker is bound to. */
  readonly resource: string | undefined
  /** The name of the database to take or to make, whatever the live Worker is bound to. */
  readonly title?: string | undefined
}

function bindingsOf({ settings }: Target): readonly Binding[] {
  const { kv_namespaces: namespaces, d1_databases: databases, r2_buckets: buckets } = settings
  return [
    ...namespaces.map(({ binding: name, id: resource }): Binding => ({ type: 'kv_namespace', name, resource })),
    ...databases.map((each): Binding => {
      const { binding: name, database_id: resource, database_name: title } = each
      return { type: 'd1', name, resource, title }
    }),
    ...buckets.map(({ binding: name, bucket_name: resource }): Binding => ({ type: 'r2_bucket', name, resource })),
  ]
}

/**
 * Returns the resources that Workers would be bound to although the account does not have them: those that their
 * configurations name, and those of live Workers, which wrangler takes over without a look.
 */
export async function missingResources(api: AccountApi, steps: readonly Step[]): Promise<readonly CheckProblem[]> {
  const problems = await Promise.all(
    steps.map(async ({ bundle: { target }, live }) => {
      const latest = live?.at(-1)?.bindings ?? []
      const missing: CheckProblem[] = []
      for (const { type, name, resource } of bindingsOf(target)) {
        const liveResource = latest.find((each) => each.type === type && each.name === name)?.resource
        // Wrangler makes a bucket that the configuration names, unless the live Worker has the binding.
        const wanted = type === 'r2_bucket' && liveResource !== resource ? undefined : (resource ?? liveResource)
        if (wanted === undefined || (await api.has(type, wanted))) continue
        const { noun, create, id } = KINDS[type]
        const title = type === 'r2_bucket' ? wanted : `${target.name}-${name.toLowerCase().replaceAll('_', '-')}`
        const set = type === 'r2_bucket' ? '' : `, and set its ${id} in that stanza`
        missing.push({
          file: target.config,
          message: `${name} of ${target.name} is bound to the ${noun} ${wanted}, which the account does not have.`,
          remedy: `Create one with npx wrangler ${create} ${title}${set}.`,
        })
      }
      return missing
    }),
  )
  return problems.flat()
}

/**
 * Returns the resources of other environments that live Workers are bound to, and would be bound to again since their
 * configurations name none: wrangler takes over the binding of the live version. `allowed` are ids that may be shared.
 */
export function inheritedResources(
  steps: readonly Step[],
  others: readonly Environment[],
  allowed: readonly string[],
): readonly CheckProblem[] {
  const ownerOf = ownersIn(others)
  return steps.flatMap(({ bundle: { target }, live }) =>
    bindingsOf(target).flatMap(({ type, name, resource, title }) => {
      if (resource !== undefined || title !== undefined) return []
      const inherited = live?.at(-1)?.bindings.find((each) => each.type === type && each.name === name)?.resource
      const { noun, id } = KINDS[type]
      const owner = inherited === undefined ? undefined : ownerOf(noun, inherited)
      if (inherited === undefined || owner === undefined || allowed.includes(inherited)) return []
      return [
        {
          file: target.config,
          message: `${name} of ${target.name} is bound to the ${noun} ${inherited} of ${owner} since an earlier deployment.`,
          remedy: `Create one of its own and set its ${id} in a section of this environment, or share it on purpose with --allow-shared ${inherited}.`,
        },
      ]
    }),
  )
}
