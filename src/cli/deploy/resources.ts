import type { CheckProblem } from '../check/problem.ts'
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
}

function bindingsOf({ settings }: Target): readonly Binding[] {
  const { kv_namespaces: namespaces, d1_databases: databases, r2_buckets: buckets } = settings
  return [
    ...namespaces.map(({ binding: name, id: resource }): Binding => ({ type: 'kv_namespace', name, resource })),
    ...databases.map(({ binding: name, database_id: resource }): Binding => ({ type: 'd1', name, resource })),
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
